package intake

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is a message of a broker.
type Message struct {
	// ID identifies the message within its source, and is the same for each delivery. It is at
	// most [MaxID] bytes of UTF-8.
	ID   string
	Body []byte
	// Headers are the headers as texts. Those without a value are left out.
	Headers map[string]string
	// Sequence is the place of the message in its stream (JetStream), or in its partition (Kafka: the offset plus 1).
	// It is the same for each delivery, and begins at 1 again in a stream or topic that is made anew. 0: the broker
	// has none (RabbitMQ).
	Sequence int64
	// Timestamp is when the broker stored the message (JetStream), or what the record or the property timestamp says,
	// which the sender may set (Kafka, RabbitMQ, there in seconds). It is in UTC. Zero: none.
	Timestamp time.Time
	// NotBefore is the earliest start of the task, from the header that
	// [Config.NotBeforeHeader] names. Zero: at once. The consumer sets it.
	NotBefore time.Time
}

// MaxID is the largest length of the id of a message, in bytes.
const MaxID = 255

// checkID returns why the id of a message cannot identify it.
func checkID(id string) (Code, error) {
	switch {
	case id == "":
		return CodeNoID, errors.New("it has no id, so that a repetition could not be recognised: let its sender set one")
	case len(id) > MaxID:
		return CodeInvalidID, fmt.Errorf("its id has %d bytes, want at most %d", len(id), MaxID)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return CodeInvalidID, errors.New("its id is not UTF-8, or has a NUL byte")
	default:
		return "", nil
	}
}

// check returns why a message is refused before it is handled, and sets its earliest start.
func (c *Consumer) check(m *Message) (Code, error) {
	if code, err := checkID(m.ID); err != nil {
		return code, err
	}
	if len(m.Body) > c.config.MaxBody {
		return CodeTooLarge, fmt.Errorf("its body has %d bytes, want at most %d (Config.MaxBody)", len(m.Body), c.config.MaxBody)
	}
	text := m.Headers[c.config.NotBeforeHeader]
	if text == "" || c.config.NotBeforeHeader == "-" {
		return "", nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		m.NotBefore = time.UnixMicro(int64(math.Ceil(seconds * 1e6)))
		return "", nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return CodeInvalidNotBefore, fmt.Errorf("header %s is %q, want a time like 2026-03-01T06:00:00Z or seconds since 1970", c.config.NotBeforeHeader, clip(text))
	}
	m.NotBefore = at
	return "", nil
}

// key returns the id of a message in the table. Without a usable one it is a hash, so that a
// repetition is recognised.
func (m *Message) key() string {
	if _, err := checkID(m.ID); err == nil {
		return m.ID
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(m.ID), m.ID)
	_, _ = h.Write(m.Body)
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

// hash returns a short hash of a body, to notice another one.
func hash(body []byte) int64 {
	sum := sha256.Sum256(body)
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any 64 bits
}

// envelope is what the column headers holds of a refused message.
type envelope struct {
	Headers  map[string]string `json:"headers"`
	Sequence int64             `json:"sequence"`
	// The timestamp since 1970: JSON has no form for years after 9999.
	Seconds     int64 `json:"seconds"`
	Nanoseconds int   `json:"nanoseconds"`
}

// kept returns what is kept of a refused message: the beginning of its body, and its envelope if that is the whole
// message, so that it can be taken in anew.
func kept(m *Message) (body, rest string) {
	body = storable(m.Body)
	if _, err := checkID(m.ID); err != nil || body != string(m.Body) {
		return body, ""
	}
	size := 0
	for name, value := range m.Headers {
		if size += len(name) + len(value); size > bodyKept || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return body, ""
		}
	}
	text, err := json.Marshal(envelope{m.Headers, m.Sequence, m.Timestamp.Unix(), m.Timestamp.Nanosecond()})
	if err != nil {
		return body, ""
	}
	return body, string(text)
}

// whole returns a message that was kept whole.
func whole(id, body, rest string) (m Message, err error) {
	var e envelope
	if err := json.Unmarshal([]byte(rest), &e); err != nil {
		return m, fmt.Errorf("read the headers of message %q, which is taken in anew: %w", clip(id), err)
	}
	return Message{ID: id, Body: []byte(body), Headers: e.Headers, Sequence: e.Sequence, Timestamp: time.Unix(e.Seconds, int64(e.Nanoseconds)).UTC()}, nil
}
