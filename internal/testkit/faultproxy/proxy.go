package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// patience bounds how long CutAfter waits for the server to have done what it
// was asked, as it may wait for a lock, and the dial of the server.
const patience = 10 * time.Second

// Proxy passes connections on to one server. It is safe for concurrent use.
type Proxy struct {
	server   string
	listener net.Listener
	closing  chan struct{}
	all      sync.WaitGroup

	mu       sync.Mutex
	faults   []*Fault
	number   int
	trips    int
	conns    int
	log      []Message
	keep     bool
	hits     []Message
	open     map[*link]struct{}
	silenced []*link
	change   chan struct{} // closed when a connection is gone from open
	closed   bool
}

// Option changes how a proxy works.
type Option func(*Proxy)

// KeepLog makes the proxy remember every message, for [Proxy.Messages].
func KeepLog() Option { return func(p *Proxy) { p.keep = true } }

// Listen starts a proxy to the server at an address, host:port. Each fault
// strikes once; of two that would strike the same message, the first does and
// the second has missed its only chance.
func Listen(server string, faults []Fault, opts ...Option) (*Proxy, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback for clients of %s: %w", server, err)
	}
	p := &Proxy{
		server: server, listener: l, closing: make(chan struct{}),
		open: make(map[*link]struct{}), change: make(chan struct{}),
	}
	for _, f := range faults {
		f.seen, f.hit = 0, make(chan struct{})
		p.faults = append(p.faults, &f)
	}
	for _, opt := range opts {
		opt(p)
	}
	p.all.Go(p.accept)
	return p, nil
}

// Through starts a proxy to the server of a DSN, which must be a URL with a host
// and a port, and returns the DSN that leads through it.
func Through(dsn string, faults []Fault, opts ...Option) (*Proxy, string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, "", fmt.Errorf("read the DSN of the server behind the proxy, which must be a URL: %w", err)
	}
	if u.Port() == "" {
		return nil, "", fmt.Errorf("the DSN of the server behind the proxy names no port: %s", u.Redacted())
	}
	p, err := Listen(u.Host, faults, opts...)
	if err != nil {
		return nil, "", err
	}
	u.Host = p.Addr()
	return p, u.String(), nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Count returns how many messages have been taken up.
func (p *Proxy) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.number
}

// RoundTrips returns how many round trips have begun, see [Message].
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Messages returns the messages taken up so far, if the proxy keeps them.
func (p *Proxy) Messages() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Message(nil), p.log...)
}

// Struck returns the messages that faults have struck, in the order in which
// they did.
func (p *Proxy) Struck() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Message(nil), p.hits...)
}

// Hit returns a channel that is closed when the i-th fault, from 0, strikes:
// before its action begins.
func (p *Proxy) Hit(i int) <-chan struct{} { return p.faults[i].hit }

// ErrOpen: there are connections still.
var ErrOpen = errors.New("connections through the proxy have not ended")

// Wait waits until every connection is gone on both sides, so that the server
// has ended what it was asked over them; those that a fault has silenced do not
// count. It waits for ever while a client holds one; when ctx ends first, the
// error is an [ErrOpen].
func (p *Proxy) Wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		n, change := len(p.open), p.change
		p.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d of them: %w: %w", n, ErrOpen, context.Cause(ctx))
		}
	}
}

// Close closes all connections, without waiting for messages that are late, and
// returns when the proxy has no goroutine left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.closing)
	links := append([]*link(nil), p.silenced...)
	for l := range p.open {
		links = append(links, l)
	}
	p.mu.Unlock()
	err := p.listener.Close()
	for _, l := range links {
		l.cut()
	}
	p.all.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // this client's misfortune
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			_ = client.Close()
			return
		}
		p.conns++
		l := newLink(p, p.conns, client)
		p.open[l] = struct{}{}
		p.mu.Unlock()
		p.all.Go(l.run)
	}
}

// count gives a message its number and returns the fault that strikes it, or
// nil.
func (p *Proxy) count(m Message) (Message, *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	m.Number = p.number
	if m.BeginsTrip {
		p.trips++
	}
	if p.keep {
		p.log = append(p.log, m)
	}
	var strikes *Fault
	for _, f := range p.faults {
		if f.counts(m) && strikes == nil {
			strikes = f
		}
	}
	if strikes != nil {
		p.hits = append(p.hits, m)
		close(strikes.hit)
	}
	return m, strikes
}

// gone notes that a connection has ended, or is silenced and will not.
func (p *Proxy) gone(l *link, silenced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.open[l]; !ok {
		return
	}
	delete(p.open, l)
	if silenced {
		p.silenced = append(p.silenced, l)
	}
	close(p.change)
	p.change = make(chan struct{})
}

// Closed returns a channel that is closed when Close is called.
func (p *Proxy) Closed() <-chan struct{} { return p.closing }
