# What the library is made of, as a number: its parts, and those of other ranks, go together if they have the same. Counted anew
# whenever a source has changed.
set(patterns)
foreach(room interpose runtime strategies tuning)
  foreach(ending cpp hpp c h def in json ptx)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/${room}/*.${ending})
  endforeach()
endforeach()
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
set(header ${PROJECT_BINARY_DIR}/generated/interpose/number_of_sources.hpp)
list(JOIN patterns "|" joined)
add_custom_command(OUTPUT ${header}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${header} -D FOLDER=${PROJECT_SOURCE_DIR} "-DPATTERNS=${joined}"
          -P ${CMAKE_CURRENT_LIST_DIR}/number_of_sources.cmake
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/number_of_sources.cmake ${sources}
  VERBATIM)
add_library(nodeaware_sources OBJECT ${CMAKE_CURRENT_LIST_DIR}/sources.cpp ${header})
target_include_directories(nodeaware_sources PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_compile_options(nodeaware_sources PRIVATE -fno-exceptions -fno-rtti)
