package classify

import "strings"

// maxDetail bounds the text of an error as it is stored.
const maxDetail = 16 << 10

// Clean makes text storable in both databases: valid UTF-8, no NUL byte, at most
// 16 KiB. Text that was cut ends in "... (cut)".
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + " ... (cut)"
	}
	return s
}
