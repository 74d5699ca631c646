#pragma once

// Words to the person at the terminal, all on stderr: messages, and one live line that is rewritten
// in place. A message never tears the live line apart. "warning:" and "error:" have a colour on a
// terminal, unless NO_COLOR is set.

#include <string_view>

namespace dsf {

void log_info(std::string_view message);     ///< "message"
void log_warning(std::string_view message);  ///< "warning: message"
void log_error(std::string_view message);    ///< "error: message"

/// From here on only errors are shown: this process is one of several that would all say the same.
void mute_messages();

/// True if stderr is a terminal that can rewrite a line.
bool terminal_is_live();
/// Shows `text` on the last line, in place of what stood there. Only if terminal_is_live().
void show_live_line(std::string_view text);
/// Takes the live line away.
void clear_live_line();

}  // namespace dsf
