// The manual page, from the description of the command line.

#include <fmt/format.h>

#include "daemon/ctl/command_line.h"

namespace outlierd::ctl {
namespace {

// roff reads - as a hyphen, \ as its own, and a dot or quote at the start of a line as a request.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const bool begins_line = k == 0 || text[k - 1] == '\n';
    if (begins_line && (text[k] == '.' || text[k] == '\'')) out += "\\&";
    if (text[k] == '-')
      out += "\\-";
    else if (text[k] == '\\')
      out += "\\e";
    else
      out += text[k];
  }
  return out;
}

std::string option_entry(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (option.by_position)
    head = "\\fI" + roff(option.names.front()) + "\\fR";
  else if (!option.value.empty())
    head += " \\fI" + roff(option.value) + "\\fR";
  std::string text = fmt::format(".TP\n{}\n{}", head, roff(option.help));
  if (!option.fallback.empty()) text += fmt::format(" (default: {})", roff(option.fallback));
  return text + ".\n";
}

std::string verb_section(const VerbText& verb, const std::string& path) {
  std::string text, synopsis = "\\fBoutlierctl " + roff(path) + "\\fR [\\fIOPTIONS\\fR]";
  for (const OptionText& option : verb.options)
    if (option.by_position) synopsis += " \\fI" + roff(option.names.front()) + "\\fR";
  if (verb.verbs.empty()) {
    text = fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff(path), synopsis, roff(verb.summary));
    for (const OptionText& option : verb.options)
      if (option.names.front() != "-h") text += option_entry(option);
    if (!verb.more.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(verb.more));
  }
  for (const VerbText& each : verb.verbs) text += verb_section(each, path + " " + each.name);
  return text;
}

}  // namespace

std::string manual_page(const VerbText& root, const std::string& version) {
  std::string text = fmt::format(
      ".TH OUTLIERCTL 1 \"\" \"outlierd {}\" \"User Commands\"\n"
      ".SH NAME\noutlierctl \\- the operator's command line of outlierd\n"
      ".SH SYNOPSIS\n\\fBoutlierctl\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      roff(version), roff(root.summary));
  for (const OptionText& option : root.options) text += option_entry(option);
  text += ".SH VERBS\n";
  for (const VerbText& verb : root.verbs) text += verb_section(verb, verb.name);
  text +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nfine\n.TP\n1\nfailed\n.TP\n2\nbad usage\n.TP\n3\nthe daemon cannot be reached\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBOUTLIERD_URL\\fR\nwhere the daemon's API is, unless \\fB\\-\\-url\\fR says so\n"
      ".TP\n\\fBNO_COLOR\\fR\nnot empty: no colour\n"
      ".SH SEE ALSO\n\\fBoutlierd\\fR(8)\n";
  return text;
}

}  // namespace outlierd::ctl
