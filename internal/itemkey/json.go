package itemkey

import (
	"bytes"
	"strings"
)

// OfJSON returns the key of an item from its JSON, with the escapes of [Encode]. It is
// never cut.
func OfJSON(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if bytes.Contains(raw, []byte("\u2028")) || bytes.Contains(raw, []byte("\u2029")) {
		raw = []byte(lineEnds.Replace(string(raw)))
	}
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return string(raw)
	}
	key := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			key = append(key, raw[i])
			continue
		}
		plain := byte(0)
		if i+6 <= len(raw) {
			plain = forHTML[string(raw[i:i+6])]
		}
		if plain != 0 {
			key, i = append(key, plain), i+5
			continue
		}
		key, i = append(key, raw[i], raw[i+1]), i+1
	}
	return string(key)
}

// forHTML are the escapes that encoding/json writes for HTML only.
var forHTML = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

// lineEnds writes the characters that encoding/json always escapes. In JSON they are only
// in strings.
var lineEnds = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)
