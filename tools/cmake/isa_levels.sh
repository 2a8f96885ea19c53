#!/usr/bin/env bash
# isa_levels.sh FOLDER LEVEL...
#
# Joins the objects that FOLDER/LEVEL.objects lists, one a line, into FOLDER/LEVEL.o for every level, and makes
# FOLDER/dispatch.o of the functions that they share: each jumps to its namesake of the chosen level.
#
# The linker keeps one copy of an inlined function or template that several objects have. It must not keep that of a
# level for code that runs on every processor, so all names of a level become local but
# - its functions of namespace hlo, which get the level's number as a suffix, and
# - variables without addresses of functions, which all levels and the rest of the program share.
# CXX, LD, OBJCOPY and OBJDUMP name the tools; LD must know --force-group-allocation (GNU ld).
set -euo pipefail
export LC_ALL=C
folder=$1
shift
cd "$folder"

number=0
for level; do
  "$LD" -r --force-group-allocation -o "$level.joined" "@$level.objects"
  "$OBJDUMP" --syms "$level.joined" >"$level.syms"
  # Code that runs before main would run on processors that lack the level. That of <iostream>, which other objects run
  # too, is left out.
  if "$OBJDUMP" --reloc --section=.text.startup "$level.joined" 2>/dev/null | awk '$2 ~ /^R_/ {print $3}' |
    grep -vE '^(_ZNSt8ios_base4Init(C1|D1)Ev|__dso_handle|__cxa_atexit|\.bss)([-+]|$)' >"$level.startup"; then
    echo "$level: the kernels have variables that are initialised before main, with" >&2
    sort -u "$level.startup" >&2
    exit 1
  fi
  # Symbols: value, seven flags, section, size, name. Functions of hlo are those of this level; weak ones may lack in another.
  grep -E '^[0-9a-f]{16} (g | w|u ).{4}F ' "$level.syms" | awk '{print $NF}' | grep -E '^_ZNK?3hlo' | sort >"$level.functions"
  grep -E '^[0-9a-f]{16} g .{4}F ' "$level.syms" | awk '{print $NF}' | sort >"$level.strong"
  # Data that is written while the program runs.
  grep -E '^[0-9a-f]{16} (g | w|u ).{4}O \.(data|bss|tdata|tbss)' "$level.syms" | grep -v ' \.data\.rel\.ro' | awk '{print $NF}' >"$level.shared" || true
  if ((number == 0)); then cp "$level.functions" functions; else comm -12 functions "$level.functions" >both && mv both functions; fi
  number=$((number + 1))
done
for level; do
  if missing=$(comm -23 <(grep -E '^_ZNK?3hlo' "$level.strong") functions) && [ -n "$missing" ]; then
    echo "$level has functions that another level lacks: $missing" >&2
    exit 1
  fi
done

number=0
for level; do
  awk -v n="$number" '{print $1, $1 ".isa" n} END {print "hlo_compiled_features hlo_compiled_features.isa" n}' functions >"$level.renamed"
  { awk '{print $2}' "$level.renamed"; cat "$level.shared"; } >"$level.kept"
  "$OBJCOPY" --redefine-syms="$level.renamed" "$level.joined" "$level.o"
  "$OBJCOPY" --remove-section=.init_array --remove-section=.rela.init_array --keep-global-symbols="$level.kept" "$level.o"
  number=$((number + 1))
done

{
  number=0
  echo '.section .note.GNU-stack,"",@progbits'
  echo '.section .data.rel.ro,"aw",@progbits'
  for level; do
    echo ".balign 8"
    echo "functions.$number:"
    awk -v n="$number" '{print "  .quad " $1 ".isa" n}' functions
    number=$((number + 1))
  done
  # The table that isa_select.cc declares as hlo::isa::Level.
  echo '.hidden hlo_isa_levels; .globl hlo_isa_levels; hlo_isa_levels:'
  number=0
  for level; do
    echo "  .quad name.$number, hlo_compiled_features.isa$number, functions.$number"
    number=$((number + 1))
  done
  echo '  .quad 0, 0, 0'
  echo '.section .rodata'
  number=0
  for level; do
    echo "name.$number: .string \"$level\""
    number=$((number + 1))
  done
  echo '.data; .balign 8'
  echo '.hidden hlo_isa_functions; .globl hlo_isa_functions; hlo_isa_functions:'
  echo "  .quad functions.$((number - 1))"
  echo '  .quad hlo_isa_select'
  echo '.text'
  awk '{
    print ".balign 16; .globl " $1 "; .hidden " $1 "; .type " $1 ", @function"
    print $1 ": movq hlo_isa_functions(%rip), %r11; jmp *" 8 * (NR - 1) "(%r11)"
    print ".size " $1 ", .-" $1
  }' functions
} >dispatch.s
"$CXX" -c -o dispatch.o dispatch.s
