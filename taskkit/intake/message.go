package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is a message of a broker.
type Message struct {
	// ID identifies the message within its source, and is the same for each delivery. It is at
	// most [MaxID] bytes of UTF-8.
	ID      string
	Body    []byte
	Headers map[string]string
	// NotBefore is the earliest start of the task, from the header that
	// [Config.NotBeforeHeader] names. Zero: at once. The consumer sets it.
	NotBefore time.Time
}

// MaxID is the largest length of the id of a message, in bytes.
const MaxID = 255

// check returns why a message is refused before it is handled, and sets its earliest start.
func (c *Consumer) check(m *Message) (Code, error) {
	switch {
	case m.ID == "":
		return CodeNoID, errors.New("it has no id, so that a repetition could not be recognised: let its sender set one")
	case len(m.ID) > MaxID:
		return CodeInvalidID, fmt.Errorf("its id has %d bytes, want at most %d", len(m.ID), MaxID)
	case !utf8.ValidString(m.ID) || strings.ContainsRune(m.ID, 0):
		return CodeInvalidID, errors.New("its id is not UTF-8, or has a NUL byte")
	case len(m.Body) > c.config.MaxBody:
		return CodeTooLarge, fmt.Errorf("its body has %d bytes, want at most %d (Config.MaxBody)", len(m.Body), c.config.MaxBody)
	}
	text := m.Headers[c.config.NotBeforeHeader]
	if text == "" || c.config.NotBeforeHeader == "-" {
		return "", nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		m.NotBefore = time.Unix(seconds, 0)
		return "", nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return CodeInvalidNotBefore, fmt.Errorf("header %s is %q, want a time like 2026-03-01T06:00:00Z or seconds since 1970", c.config.NotBeforeHeader, clip(text))
	}
	m.NotBefore = at
	return "", nil
}

// hashed returns a substitute for the id of a message without a usable one, so that a
// repetition is recognised.
func hashed(d Delivery) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(d.ID), d.ID)
	_, _ = h.Write(d.Body)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// clip bounds a text from a message in an error.
func clip(s string) string {
	if len(s) > 100 {
		s = s[:100] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// bodyKept is how much of the body of a refused message is kept.
const bodyKept = 64 << 10

// storable returns the beginning of a body as text that both databases can hold.
func storable(body []byte) string {
	body = body[:min(len(body), bodyKept)]
	s := strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD")
	for len(s) > bodyKept {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
