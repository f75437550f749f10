# What is tested of daemon/api/.

# Serves made-up data, for wrk and schemathesis.
add_executable(outlierd_api_demo bench/api_demo.cpp)
target_link_libraries(outlierd_api_demo PRIVATE outlierd_api Boost::headers outlierd_settings)
