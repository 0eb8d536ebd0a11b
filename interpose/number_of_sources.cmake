# cmake -D OUTPUT=... -D FOLDER=... -D PATTERNS=...|... -P number_of_sources.cmake
#
# Writes the header that says what the library is made of. Where the folder lies does not matter.
string(REPLACE "|" ";" patterns "${PATTERNS}")
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${patterns})
list(SORT sources)
foreach(source IN LISTS sources)
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 7 digits) # positive as an int
file(WRITE ${OUTPUT} "#pragma once\ninline constexpr int number_of_sources = 0x${digits};\n")
