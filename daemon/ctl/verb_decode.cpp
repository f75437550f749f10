// outlierctl decode: what outlierd understands of captured flow export, one record a line.

#include <fmt/format.h>

#include "daemon/ctl/command.h"
#include "daemon/ctl/flow_text.h"
#include "daemon/ctl/text_file.h"
#include "daemon/ingest/flow/capture.h"
#include "daemon/ingest/flow/flow_decoder.h"
#include "daemon/ingest/flow/flow_json.h"

namespace outlierd::ctl {
namespace {

using ingest::FlowRefusal;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kLargestCapture = std::size_t{1} << 30;

class Decode : public Command {
 public:
  std::string_view name() const override { return "decode"; }

  void describe(Arguments& arguments) override {
    arguments.about(
        "Print what is understood of captured flow export, one JSON record a line",
        "NetFlow v5 and v9, IPFIX and sFlow v5 in capture files (pcap, pcapng) or as raw "
        "datagrams; also lines of JSON of pmacct, goflow2, nfdump and vFlow. Templates are kept "
        "from file to file: name those with templates first.\nCounters are as sent, sampling_rate "
        "(0: not known) beside them. What is refused goes to standard error, with the reason.");
    arguments.option("FILE", "FILE", files_, "Capture or raw datagrams, also .gz; - is stdin")
        .required();
    arguments.example("outlierctl decode router.pcap", "every flow record in a capture");
    arguments.example("outlierctl decode templates.pcap data.pcap | jq .bytes",
                      "data whose templates came earlier");
  }

  int run(Session& session) override {
    int code = kOk;
    for (const std::string& file : files_) {
      auto bytes = read(file);
      if (!bytes) {
        code = session.fail(bytes.error());
        continue;
      }
      decode(file, *bytes, session);
    }
    session.out.flush();
    return session.out ? code : session.fail("standard output cannot be written");
  }

 private:
  static tl::expected<std::string, std::string> read(const std::string& path) {
    auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    std::string text;
    while (true) {
      const auto got = file->read(text, std::size_t{1} << 20);
      if (!got) return tl::unexpected(got.error());
      if (*got == 0) return text;
      if (text.size() > kLargestCapture)
        return tl::unexpected(file->name() + ": is larger than 1 GiB");
    }
  }

  void decode(const std::string& file, std::string& text, Session& session) {
    const Bytes bytes = std::as_bytes(std::span(text));
    if (ingest::CaptureReader::recognises(bytes))
      decode_capture(file, bytes, session);
    else if (!text.empty() && text.front() == '{')
      decode_lines(file, text, session);
    else
      decode_datagrams(file, bytes, session);
  }

  void decode_capture(const std::string& file, Bytes bytes, Session& session) {
    ingest::CaptureReader reader(bytes);
    while (const auto packet = reader.next()) {
      const std::string where = fmt::format("{}: packet {}", file, packet->number);
      if (!packet->refusal.empty())
        session.error << where << ' ' << packet->refusal << '\n';
      else
        decode_datagram(where, packet->source, packet->payload, session);
    }
    if (!reader.problem().empty()) session.error << file << ": " << reader.problem() << '\n';
  }

  void decode_datagrams(const std::string& file, Bytes bytes, Session& session) {
    if (bytes.empty()) session.error << file << ": is empty\n";
    for (int number = 1; !bytes.empty(); ++number) {
      const std::size_t length = ingest::FlowDecoder::datagram_length(bytes);
      decode_datagram(fmt::format("{}: datagram {}", file, number), {}, bytes.first(length),
                      session);
      bytes = bytes.subspan(length);
    }
  }

  void decode_datagram(const std::string& where, const IpAddress& exporter, Bytes datagram,
                       Session& session) {
    const FlowRefusal refusal = decoder_.decode(exporter, datagram, batch_);
    print(session);
    if (refusal != FlowRefusal::kNone)
      session.error << where << ' ' << text_of(refusal) << " (" << name_of(refusal) << ")\n";
    const auto note = [&](std::uint32_t count, const char* what) {
      if (count > 0) session.error << where << ": " << count << ' ' << what << '\n';
    };
    note(batch_.sets_without_template, "sets of data whose template has not been seen");
    note(batch_.records_ignored, "records that count no traffic, or not of IP");
  }

  void decode_lines(const std::string& file, std::string& text, Session& session) {
    const std::size_t size = text.size();
    text.resize(size + ingest::FlowJsonDecoder::kPadding);
    std::size_t number = 0;
    for (std::size_t at = 0; at < size;) {
      const std::size_t end = std::min(text.find('\n', at), size);
      ++number;
      if (end > at) {
        const FlowRefusal refusal = json_.decode({text.data() + at, end - at}, batch_);
        print(session);
        if (refusal != FlowRefusal::kNone)
          session.error << fmt::format("{}: line {} {}: {} ({})\n", file, number, text_of(refusal),
                                       json_.problem(), name_of(refusal));
      }
      at = end + 1;
    }
  }

  void print(Session& session) const {
    for (const FlowRecord& record : batch_.records)
      session.out << flow_line(batch_, record) << '\n';
  }

  std::vector<std::string> files_;
  ingest::FlowDecoder decoder_;
  ingest::FlowJsonDecoder json_;
  ingest::FlowBatch batch_;
};

}  // namespace

std::unique_ptr<Command> make_decode() { return std::make_unique<Decode>(); }

}  // namespace outlierd::ctl
