case "${2:-}" in
  write) stage write ;;
  *[!0-9.]*|'') echo "$0: $0 TARGET write, and later $0 TARGET DAYS" >&2; exit 2 ;;
  *) stage read "age-$2d" ;;
esac
