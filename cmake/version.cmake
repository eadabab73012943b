# build/generated/brio_version.h: the version and the commit it was built from.
find_package(Git QUIET)
set(BRIO_COMMIT "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE BRIO_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/brio_version.h CONTENT
"#pragma once
namespace brio {
inline constexpr const char* kVersion = \"@PROJECT_VERSION@\";
inline constexpr const char* kCommit = \"@BRIO_COMMIT@\";
}  // namespace brio
" @ONLY)
