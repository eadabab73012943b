# One numerics for every compiler (DESIGN R9): no contraction, no fast-math, and no per-file -m flags: code that needs an
# instruction set says so in a target region (base/target.h).
add_compile_options(-ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-psabi)
if(BRIO_BREAKS)
  add_compile_definitions(BRIO_BREAKS)
endif()
if(BRIO_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Flow analysis of inlined std::string and std::variant that sees overlaps, bounds and unset members that are not there
  # (g++ 12 to 14); clang and the sanitizers look for the real ones.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized)
endif()
if(BRIO_SANITIZE)
  # Line tables are all that a report needs; debug checks of invariants are what these builds are for.
  add_compile_options(-fsanitize=${BRIO_SANITIZE} -fno-omit-frame-pointer -O1 -g1 -UNDEBUG)
  if(BRIO_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  add_link_options(-fsanitize=${BRIO_SANITIZE})
endif()
