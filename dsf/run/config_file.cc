#include "dsf/run/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/hash.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

std::string origin_of(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}", file, source.begin.line);
}

std::optional<double> number_of(const toml::node& node) {
  if (node.is_floating_point()) return node.as_floating_point()->get();
  if (node.is_integer()) return static_cast<double>(node.as_integer()->get());
  return std::nullopt;
}

// The value of a TOML node, or nothing if no key has such a type (tables, dates, lists of
// others).
std::optional<FieldValue> value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return FieldValue(text->get());
  if (const auto* number = node.as_integer()) return FieldValue(dim_t{number->get()});
  if (const auto* number = node.as_floating_point()) return FieldValue(number->get());
  if (const auto* truth = node.as_boolean()) return FieldValue(truth->get());
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const toml::node& element : *array) {
    const std::optional<double> number = number_of(element);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return FieldValue(std::move(numbers));
}

Assignment assignment_of(const Field& field, const toml::node& node, std::string origin) {
  std::optional<FieldValue> value = value_of(node);
  if (!value) {
    throw ConfigError(
        fmt::format("{}: {}: must be {}", origin, field.name(), describe_allowed(field)));
  }
  return {&field, std::move(*value), std::move(origin)};
}

toml::table parse_toml(const std::string& text, const std::string& origin) {
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}:{}: not valid TOML: {}", origin, error.source().begin.line,
                                  error.description()));
  }
}

std::string unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

// "auto" asks for no precision in particular, so it contradicts none.
bool asks_for_nothing(const Assignment& assignment) {
  const auto* text = std::get_if<std::string>(&assignment.value);
  return assignment.field->name() == "train.precision" && text != nullptr && *text == "auto";
}

}  // namespace

std::vector<Assignment> read_config_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw ConfigError(fmt::format("{}: there is no such configuration file", path.string()));
  }
  return parse_config(read_file(path), path.string());
}

std::vector<Assignment> parse_config(const std::string& text, const std::string& origin) {
  const toml::table document = parse_toml(text, origin);
  std::vector<Assignment> assignments;
  for (const auto& [section, content] : document) {
    const std::string section_place = origin_of(origin, content.source());
    const toml::table* table = content.as_table();
    if (table == nullptr) {
      throw ConfigError(
          fmt::format("{}: key \"{}\" stands in no section; write it below one of [{}]",
                      section_place, section.str(), fmt::join(section_names(), "], [")));
    }
    if (table->empty()) continue;
    for (const auto& [key, node] : *table) {
      const std::string place = origin_of(origin, node.source());
      assignments.push_back(
          assignment_of(find_field(section.str(), key.str(), place), node, place));
    }
  }
  return assignments;
}

Assignment parse_assignment(std::string_view name, std::string_view value, std::string origin) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    throw ConfigError(fmt::format("{}: \"{}\" names no section; write section.key", origin, name));
  }
  const Field& field = find_field(name.substr(0, dot), name.substr(dot + 1), origin);
  if (takes_string(field)) return {&field, unquoted(value), std::move(origin)};
  try {
    const toml::table parsed = toml::parse(fmt::format("value = {}", value));
    return assignment_of(field, *parsed.get("value"), std::move(origin));
  } catch (const toml::parse_error&) {
    throw ConfigError(fmt::format("{}: {} = {}: must be {}", origin, field.name(), value,
                                  describe_allowed(field)));
  }
}

Assignment parse_assignment(std::string_view text) {
  const std::string origin = fmt::format("--set {}", text);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw ConfigError(fmt::format("{}: write --set section.key=value", origin));
  }
  return parse_assignment(text.substr(0, equals), text.substr(equals + 1), origin);
}

std::vector<Assignment> parse_assignments(const std::vector<std::string>& texts) {
  std::vector<Assignment> assignments;
  assignments.reserve(texts.size());
  for (const std::string& text : texts) assignments.push_back(parse_assignment(text));
  return assignments;
}

RunConfig with_assignments(RunConfig base, const std::vector<Assignment>& assignments) {
  for (const Assignment& assignment : assignments) {
    set(*assignment.field, assignment.value, assignment.origin, base);
    // In a file "epochs" comes before "steps", because tables are sorted: there the steps count.
    if (assignment.field->name() == "train.epochs") base.train.steps = 0;
  }
  base.model.context = base.data.context;
  validate(base);
  return base;
}

RunConfig with_resumed_assignments(const RunConfig& run,
                                   const std::vector<Assignment>& assignments) {
  std::vector<Assignment> wanted = assignments;
  std::erase_if(wanted, asks_for_nothing);
  RunConfig config = with_assignments(run, wanted);
  for (auto at = wanted.begin(); at != wanted.end(); ++at) {
    const Assignment& assignment = *at;
    const Field& field = *assignment.field;
    // The last one that sets a key is the one that counts, and the one to name.
    const auto same = [&field](const Assignment& other) { return other.field == &field; };
    if (std::any_of(at + 1, wanted.end(), same)) continue;
    const FieldValue before = get(field, run);
    const FieldValue after = get(field, config);
    if (field.on_resume == OnResume::fixed && before != after) {
      throw UsageError(fmt::format(
          "{}: {} = {}, but the run to resume was started with {} = {}; leave the key away, or "
          "start a new run",
          assignment.origin, field.name(), to_toml(after), field.name(), to_toml(before)));
    }
  }
  return config;
}

std::string to_toml(const RunConfig& config) {
  std::string text;
  std::string_view section;
  for (const Field& field : config_fields()) {
    if (field.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", field.section);
      section = field.section;
    }
    const std::string line = fmt::format("{} = {}", field.key, to_toml(get(field, config)));
    text += fmt::format("{:<31} # {}\n", line, field.doc);
  }
  return text;
}

RunConfig read_run_config(const std::filesystem::path& root) {
  check_is_run(root);
  RunConfig config = with_assignments(RunConfig(), read_config_file(RunPaths{root}.config()));
  resolve(config);
  return config;
}

std::uint64_t fixed_part_hash(const RunConfig& config) {
  std::string text;
  for (const Field& field : config_fields()) {
    if (field.on_resume != OnResume::fixed) continue;
    text += fmt::format("{} = {}\n", field.name(), to_toml(get(field, config)));
  }
  return hash_bytes(text);
}

}  // namespace dsf
