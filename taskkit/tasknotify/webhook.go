package tasknotify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

const (
	// webhookTimeout is how long one try may take.
	webhookTimeout = 10 * time.Second
	// maxAnswer is how much of the answer is read, in bytes.
	maxAnswer = 64 << 10
	// maxRetryAfter bounds how long a receiver can make a notification wait.
	maxRetryAfter = 24 * time.Hour
)

// Webhook is a target that gets notifications by HTTP, as Standard Webhooks says: a POST with the headers webhook-id, webhook-timestamp
// and webhook-signature. A try takes 10 seconds at most. An answer from 200 to 299 ends the delivery. After 408, 429, 500 and above, and
// without an answer, it is tried again, at the time of a Retry-After of up to a day. After 410 the URL gets no notification any more, see
// [Resubscribe]. Any other answer makes the notification a dead letter, and so does a redirect.
//
// It is sent to public addresses alone, whatever the name of the receiver resolves to, unless Allow names others. Fields must
// not change after the target was registered.
type Webhook struct {
	// URL is where the notifications go, by https. It is needed.
	URL string
	// Secrets sign the notifications: whsec_ and the base64 of 24 to 64 random bytes. A second one is for the time in which
	// receivers change to it. At least one is needed.
	Secrets []string
	// Allow are networks beside the public one in which the receiver, or a proxy, may be. Defaults to none.
	Allow []netip.Prefix
	// PlainHTTP allows a URL without TLS. Defaults to false.
	PlainHTTP bool
	// Proxy returns the proxy of a request, such as [http.ProxyFromEnvironment]. Its address is checked in place of the
	// receiver's. Defaults to none.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver resolves the name of the receiver. Defaults to [net.DefaultResolver].
	Resolver *net.Resolver
	// Body returns the body and its content type for a receiver that needs another than [Payload], such as a chat. Defaults to
	// the JSON of a Payload.
	Body func(m *Message) (body []byte, contentType string, err error)

	once      sync.Once
	transport *http.Transport
	keys      [][]byte
	err       error
	within    time.Duration // of a try; only tests set it
}

// Payload is the body of a webhook, as JSON.
type Payload struct {
	Type      string      `json:"type"` // task. and the event, or the event of a finding: task.completed
	Timestamp time.Time   `json:"timestamp"`
	Data      PayloadData `json:"data"`
}

// PayloadData is what a webhook is about.
type PayloadData struct {
	Task    uuid.UUID `json:"task,omitzero"`
	Kind    string    `json:"kind,omitempty"`
	Queue   string    `json:"queue,omitempty"`
	Owner   uuid.UUID `json:"owner,omitzero"`
	Status  string    `json:"status,omitempty"`
	Code    string    `json:"code,omitempty"`
	Preview bool      `json:"preview,omitempty"`
	Items   Counts    `json:"items"`
	Link    string    `json:"link,omitempty"`
}

// Counts are numbers of items. Total is 0 if it is unknown.
type Counts struct {
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
	Total   int64 `json:"total"`
}

// Payload returns the body of a webhook.
func (m *Message) Payload() Payload {
	kind := string(m.Event)
	if m.Task != uuid.Nil {
		kind = "task." + kind
	}
	return Payload{Type: kind, Timestamp: m.At, Data: PayloadData{
		Task: m.Task, Kind: m.Kind, Queue: m.Queue, Owner: m.Owner, Status: m.Status, Code: m.Code, Preview: m.Preview,
		Items: Counts{m.Done, m.Failed, m.Skipped, m.Total}, Link: m.Link,
	}}
}

// check returns what is wrong with the target, and makes its client.
func (w *Webhook) check() error {
	if w == nil {
		return errors.New("it is a nil *Webhook")
	}
	w.once.Do(func() { w.err = w.open() })
	return w.err
}

func (w *Webhook) open() error {
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("Webhook.URL is no URL such as https://ops.example/hooks") // its text may have a secret
	case u.Scheme != "https" && (u.Scheme != "http" || !w.PlainHTTP):
		return fmt.Errorf("Webhook.URL begins with %.20s: use https, or http with PlainHTTP", u.Scheme)
	case u.User != nil:
		return errors.New("Webhook.URL has a user: the signature says who sends the webhook")
	case len(w.Secrets) == 0 || len(w.Secrets) > maxSecrets:
		return fmt.Errorf("Webhook.Secrets has %d secrets: give it one, or two during a rotation", len(w.Secrets))
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && w.Proxy == nil {
		if err := checkAddress(a, w.Allow); err != nil {
			return err
		}
	}
	for _, s := range w.Secrets {
		key, err := decodeSecret(s)
		if err != nil {
			return fmt.Errorf("Webhook.Secrets: %w", err)
		}
		w.keys = append(w.keys, key)
	}
	dialer := &net.Dialer{Timeout: webhookTimeout, Resolver: w.Resolver, Control: control(w.Allow)}
	// There is no http.Client, which reads the address of a redirect. No connection is kept: each try resolves and checks anew.
	w.transport = &http.Transport{
		Proxy: w.Proxy, DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxAnswer, TLSHandshakeTimeout: webhookTimeout,
	}
	return nil
}

// Deliver implements [Target].
func (w *Webhook) Deliver(ctx context.Context, m *Message) error {
	if err := w.check(); err != nil {
		return taskkit.Permanent("webhook_config", err)
	}
	return w.send(ctx, m)
}

// deliver implements [deliverer].
func (w *Webhook) deliver(ctx context.Context, d *delivery, m *Message) (taskkit.Next, error) {
	gone, err := d.unsubscribed(ctx, d.db, m.Target, w.URL)
	switch {
	case err != nil:
		return taskkit.Done, err
	case gone:
		return taskkit.Done, errUnsubscribed
	}
	err = w.Deliver(ctx, m)
	if errors.Is(err, errUnsubscribed) {
		if err := d.unsubscribe(ctx, d.b.Tx, m.Target, w.URL); err != nil {
			return taskkit.Done, err
		}
	}
	return taskkit.Done, err
}

// send makes one try.
func (w *Webhook) send(ctx context.Context, m *Message) error {
	body, contentType, err := w.body(m)
	if err != nil {
		return taskkit.Permanent("webhook_body", fmt.Errorf("write the body of a webhook: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.within, webhookTimeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return taskkit.Permanent("webhook_config", errors.New("Webhook.URL cannot be requested"))
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "taskkit")
	r.Header["webhook-id"] = []string{m.ID}
	r.Header["webhook-timestamp"] = []string{timestamp}
	r.Header["webhook-signature"] = []string{sign(w.keys, m.ID, timestamp, body)}
	answer, err := w.transport.RoundTrip(r)
	if err != nil {
		return unanswered(r.URL, cmp.Or(ctx.Err(), err))
	}
	defer answer.Body.Close()
	// What is read is not used: it lets a receiver finish that writes a little. After 101 the context would not end the read.
	if answer.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	}
	return outcome(r.URL, answer, time.Now())
}

func (w *Webhook) body(m *Message) ([]byte, string, error) {
	if w.Body != nil {
		return w.Body(m)
	}
	body, err := json.Marshal(m.Payload())
	return body, "application/json", err
}

// unanswered is the error of a try without an answer. The URL may have a secret in its path, so the error names its host alone. An error of
// the network is said as it is; of what the receiver has sent nothing is said.
func unanswered(u *url.URL, err error) error {
	if refused, ok := errors.AsType[*AddressError](err); ok {
		return taskkit.Permanent("webhook_address", fmt.Errorf("send a webhook to %s: %w", u.Host, refused))
	}
	_, network := errors.AsType[net.Error](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	if !network && !certificate && !errors.Is(err, context.Canceled) && !errors.Is(err, http.ErrSchemeMismatch) {
		err = errors.New("its answer is not HTTP, or was cut off")
	}
	return fmt.Errorf("send a webhook to %s: %w", u.Host, err)
}

// outcome returns what an answer means: nil for a delivery.
func outcome(u *url.URL, a *http.Response, now time.Time) error {
	code := a.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	err := fmt.Errorf("%s has answered a webhook with %d", u.Host, code)
	switch {
	case code == http.StatusGone:
		return errUnsubscribed
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		if after := retryAfter(a.Header.Get("Retry-After"), now); after > 0 {
			return taskkit.RetryAfter(err, after)
		}
		return err
	case code >= 300 && code < 400:
		return taskkit.Permanent("webhook_redirect", fmt.Errorf("%w, a redirect, which is not followed: give Webhook.URL the address itself", err))
	}
	return taskkit.Permanent("webhook_refused", err)
}

// retryAfter reads a Retry-After, in seconds or as a date; 0: there is none.
func retryAfter(text string, now time.Time) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}
