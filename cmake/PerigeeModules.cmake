# SPDX-License-Identifier: Apache-2.0
# prg_module, prg_test: one way to declare a library of core/ and a test program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(cjson REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(lua REQUIRED IMPORTED_TARGET lua5.4)
pkg_check_modules(uv REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(crypto REQUIRED IMPORTED_TARGET libcrypto) # SHA-1 and base64 of WebSocket handshakes
find_library(PRG_WSLAY wslay REQUIRED) # has no pkg-config file
pkg_check_modules(edit REQUIRED IMPORTED_TARGET libedit) # line editing of perigee repl; readline is GPL
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd) # recordings

add_library(prg_settings INTERFACE)
target_compile_features(prg_settings INTERFACE c_std_11)
target_compile_definitions(prg_settings INTERFACE _GNU_SOURCE)
target_include_directories(prg_settings INTERFACE "${PROJECT_SOURCE_DIR}/core")
target_compile_options(prg_settings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Werror=attributes
  -fno-common
  -fno-strict-aliasing # libuv casts between handle types
  -fstack-protector-strong)
if(PRG_WERROR)
  target_compile_options(prg_settings INTERFACE -Werror)
endif()
if(PRG_SANITIZE)
  target_compile_options(prg_settings INTERFACE -fsanitize=${PRG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(prg_settings INTERFACE -fsanitize=${PRG_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_definitions(prg_settings INTERFACE _FORTIFY_SOURCE=2) # not with a sanitizer: they intercept the same calls
  target_link_options(prg_settings INTERFACE -Wl,-z,relro,-z,now)
endif()

if(PRG_COVERAGE)
  target_compile_options(prg_settings INTERFACE --coverage -fprofile-update=atomic) # several processes of a test run count together
  target_link_options(prg_settings INTERFACE --coverage)
endif()

# prg_module(json SOURCES value.c pointer.c DEPS base PkgConfig::cjson): library prg_json from core/json. Names without "::" in DEPS are
# modules.
function(prg_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(prg_${name} STATIC ${arg_SOURCES})
  target_link_libraries(prg_${name} PUBLIC prg_settings)
  foreach(dep IN LISTS arg_DEPS)
    if(dep MATCHES "::" OR NOT dep IN_LIST PRG_MODULES)
      target_link_libraries(prg_${name} PUBLIC ${dep})
    else()
      target_link_libraries(prg_${name} PUBLIC prg_${dep})
    endif()
  endforeach()
endfunction()

# prg_test(json_value SOURCES test_value.c DEPS json): a cmocka program and a ctest entry of that name, label unit.
function(prg_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  list(TRANSFORM arg_DEPS PREPEND prg_)
  target_link_libraries(test_${name} PRIVATE ${arg_DEPS} prg_test_support)
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/tests")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 120)
endfunction()
