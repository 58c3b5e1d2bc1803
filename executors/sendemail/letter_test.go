package sendemail_test

import (
	"testing"

	"taskkit.dev/executors/sendemail"
)

func TestLetterIsOneLine(t *testing.T) {
	t.Parallel()
	l := sendemail.Letter{Subject: "Hello\r\nBcc: everybody@example.org", Body: "x"}
	if err := l.Validate(); err == nil {
		t.Error("a subject with a line break is valid")
	}
}
