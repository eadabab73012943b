# build/generated/brio_version.h: the version and the commit it was built from.
find_package(Git QUIET)
set(BRIO_COMMIT "")
if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)  # else what git finds is a repository around an unpacked archive
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE BRIO_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # The log of HEAD grows with every commit, pull and checkout: then the next build asks again.
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --git-path logs/HEAD
                  OUTPUT_VARIABLE BRIO_HEAD_LOG OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(BRIO_HEAD_LOG "${BRIO_HEAD_LOG}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  if(BRIO_COMMIT AND EXISTS ${BRIO_HEAD_LOG})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BRIO_HEAD_LOG})
  endif()
endif()
if(NOT BRIO_COMMIT)
  set(BRIO_COMMIT "unknown")
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/brio_version.h CONTENT
"#pragma once
namespace brio {
inline constexpr const char* kVersion = \"@PROJECT_VERSION@\";
inline constexpr const char* kCommit = \"@BRIO_COMMIT@\";
}  // namespace brio
" @ONLY)
