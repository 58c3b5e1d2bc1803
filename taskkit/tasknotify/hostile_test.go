package tasknotify_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// says is a receiver that answers whatever it is sent with a text, and goes on to hold the connection.
func says(t *testing.T, text string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 4096)
			_, err = c.Read(buffer) // an answer before the request belongs to none
			_, _ = c.Write([]byte(text))
			for err == nil { // until the other side closes it
				_, err = c.Read(buffer)
			}
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String() + "/hooks"
}

// Whatever a receiver answers, a try ends, and none of the answer is in its error.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, problem string }{
		"another protocol, held": {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: told\r\n\r\n", "answered a webhook with 101"},
		"no HTTP":                {"told\r\n\r\n", "is not HTTP"},
		"a header":               {"HTTP/1.1 200 OK\r\ntold\r\n\r\n", "is not HTTP"},
		"a status":               {"HTTP/1.1 told\r\n\r\n", "is not HTTP"},
		"a redirect to nowhere":  {"HTTP/1.1 302 Found\r\nLocation: :%told\r\nContent-Length: 0\r\n\r\n", "which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := webhookTo(says(t, c.answer))
			ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
			defer cancel()
			err := hook.Deliver(ctx, &tasknotify.Message{ID: "msg_1", Notice: notice.Notice{Event: notice.Completed, Target: "ops"}})
			if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "told") || strings.Contains(err.Error(), "hooks") {
				t.Errorf("the error is %q, want %q without the answer", err, c.problem)
			}
		})
	}
}
