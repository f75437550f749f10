# outlierd in a container: docker build -t outlierd .
#   docker run --read-only -v outlierd:/var/lib/outlierd -v $PWD/outlierd.yaml:/etc/outlierd/outlierd.yaml:ro \
#     -p 127.0.0.1:9470:9470 -p 127.0.0.1:9471:9471 outlierd
FROM debian:bookworm-slim AS build
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      build-essential cmake dpkg-dev file libboost1.81-dev libcli11-dev libeigen3-dev libexpected-dev \
      libfmt-dev libsimdjson-dev libspdlog-dev libsqlite3-dev libssl-dev libsystemd-dev libyaml-cpp-dev \
      libzstd-dev ninja-build nlohmann-json3-dev nodejs npm pkg-config zlib1g-dev
COPY . /source
WORKDIR /source
RUN cmake --preset release -DOUTLIERD_TESTS=OFF -DOUTLIERD_BENCH=OFF && \
    cmake --build --preset release --target package && \
    cp build/release/outlierd_*.deb /outlierd.deb

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/outlierd.deb,target=/outlierd.deb \
    apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /outlierd.deb && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/*
COPY deploy/container/outlierd.yaml /etc/outlierd/outlierd.yaml
USER outlierd
VOLUME /var/lib/outlierd
EXPOSE 9470 9471
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["outlierctl", "status"]
ENTRYPOINT ["outlierd"]
