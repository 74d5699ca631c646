#include "apps/dsf/manual_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace dsf {
namespace {

/// Hyphens that are to be typed, lists that may go on in the next line behind a bar or comma, and
/// lines that would look like requests.
std::string roff(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else if (character == '|' || character == ',') {
      result += character;
      result += "\\:";
    } else {
      result += character;
    }
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

void add_option(const OptionDescription& option, std::string& page) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  if (names.empty()) names.push_back("\\fI" + roff(option.positional) + "\\fR");
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (!option.names.empty() && !option.value.empty()) {
    head += " \\fI" + roff(option.value) + "\\fR";
  }
  page += fmt::format(".TP\n{}\n{}", head, roff(option.description));
  if (!option.default_value.empty())
    page += fmt::format(" (default: {})", roff(option.default_value));
  page += '\n';
}

void add_command(const CommandDescription& command, const std::string& path, std::string& page) {
  page += fmt::format(".SS {}\n{}\n", roff(path), roff(command.description));
  for (const OptionDescription& option : command.options) add_option(option, page);
  for (const CommandDescription& sub : command.commands) {
    add_command(sub, path + " " + sub.name, page);
  }
}

constexpr const char* kManualEnd = R"(.SH FILES
.TP
\fIRUN\fR/config.toml, log.jsonl, metrics.csv, tokenizer, checkpoints/
a run directory, made by \fBdsf train\fR
.TP
~/.cache/dsf
pieces and token ids of large texts, for the next start
.SH ENVIRONMENT
.TP
\fBDSF_CACHE_DIR\fR
in place of ~/.cache/dsf
.TP
\fBNO_COLOR\fR
if it is set to anything, messages have no colour, not even on a terminal
.SH EXIT STATUS
0: done; 1: failed while working; 2: wrong use or wrong input, and nothing was written.
)";

}  // namespace

std::string manual_page(const CommandDescription& program, const std::string& version) {
  std::string page = fmt::format(
      ".TH DSF 1 \"\" \"dsf {}\" \"User Commands\"\n.nh\n.ad l\n"
      ".SH NAME\ndsf \\- {}\n.SH SYNOPSIS\n"
      ".B dsf\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{}.\n.PP\n"
      "\\fBdsf train \\-\\-help\\-config\\fR lists every key of the configuration.\n",
      version, "train recurrent language models fast on CPUs", roff(program.description));
  page += ".SH OPTIONS\n";
  for (const OptionDescription& option : program.options) add_option(option, page);
  page += ".SH COMMANDS\n";
  for (const CommandDescription& command : program.commands) {
    add_command(command, program.name + " " + command.name, page);
  }
  return page + kManualEnd;
}

}  // namespace dsf
