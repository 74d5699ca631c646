#pragma once

// Who may ask the server of `dsf watch`: whoever has been told its address.

#include <string>
#include <string_view>

namespace dsf {

/// 128 random bits as text for an address. Throws IoError if the system gives none.
std::string make_token();

/// True for a path that begins with "/" + `token` + "/". Takes the same time for every wrong token.
bool has_token(std::string_view path, std::string_view token);

/// True for the Host of a request to this machine by a name of its own, with any port: a tunnel has
/// another port than the server, and port 80 is not named at all.
bool is_this_machine(std::string_view host);

}  // namespace dsf
