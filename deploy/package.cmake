# What is installed where, and the Debian package. Included at the end of the root CMakeLists.txt.
include(GNUInstallDirs)

set(generated ${PROJECT_BINARY_DIR}/package)
set(generated_files
  ${generated}/outlierctl.bash ${generated}/_outlierctl ${generated}/outlierctl.1.gz
  ${generated}/outlierd.8.gz ${generated}/changelog.gz)
add_custom_command(
  OUTPUT ${generated_files}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/package/generate.sh $<TARGET_FILE:outlierctl>
    ${PROJECT_SOURCE_DIR} ${generated} ${PROJECT_VERSION}
  DEPENDS outlierctl ${CMAKE_CURRENT_LIST_DIR}/package/generate.sh
    ${CMAKE_CURRENT_LIST_DIR}/package/outlierd.8 ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  VERBATIM)
# What an installation holds: no tests, no benchmarks.
add_custom_target(outlierd_installed ALL DEPENDS outlierd outlierctl ${generated_files})

install(TARGETS outlierd outlierctl RUNTIME DESTINATION bin)
install(FILES deploy/outlierd.yaml DESTINATION /etc/outlierd)
install(FILES deploy/outlierd.service DESTINATION lib/systemd/system)
install(FILES ${generated}/outlierctl.bash
  DESTINATION share/bash-completion/completions RENAME outlierctl)
install(FILES ${generated}/_outlierctl DESTINATION share/zsh/vendor-completions)
install(FILES ${generated}/outlierctl.1.gz DESTINATION share/man/man1)
install(FILES ${generated}/outlierd.8.gz DESTINATION share/man/man8)
file(GLOB documents ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} CHANGELOG.md ${generated}/changelog.gz DESTINATION share/doc/outlierd)
install(FILES deploy/package/copyright DESTINATION share/doc/outlierd)
install(FILES deploy/prometheus/outlierd.rules.yaml deploy/grafana/outlierd.json
  DESTINATION share/doc/outlierd/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME outlierd)
set(CPACK_PACKAGE_CONTACT "outlierd maintainers <maintainers@outlierd.example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, tzdata")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "watches network traffic and says what does not belong
outlierd learns what is usual between the nodes of a network and reports
what is not: spikes, drops, attacks, scans, outages, shifts. It takes
traffic matrices over TCP, Unix sockets or HTTP, keeps history and events,
and serves an API and Prometheus metrics. outlierctl is its command line.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/package/postinst ${CMAKE_CURRENT_LIST_DIR}/package/prerm
  ${CMAKE_CURRENT_LIST_DIR}/package/postrm ${CMAKE_CURRENT_LIST_DIR}/package/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
