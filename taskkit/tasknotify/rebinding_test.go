package tasknotify_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasknotify"
)

// nameServer is a DNS server that answers each question for an IPv4 address with the present one.
func nameServer(t *testing.T, address *atomic.Pointer[netip.Addr]) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if n < 17 {
				continue
			}
			end := 12
			for buffer[end] != 0 && end < n {
				end += int(buffer[end]) + 1
			}
			end += 5 // the end of the name, type and class
			reply := append([]byte(nil), buffer[:end]...)
			copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
			if binary.BigEndian.Uint16(buffer[end-4:]) == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				ip := address.Load().As4()
				reply = append(reply, ip[:]...)
			}
			_, _ = conn.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// on serves at an address.
func on(t *testing.T, address string, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this machine has no such address: %v", err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A name that resolves to an allowed address at the first try, and to another at the second, is not followed there.
func TestMID59Rebinding(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			address atomic.Pointer[netip.Addr]
			good    = netip.MustParseAddr("127.0.0.2")
			bad     = netip.MustParseAddr("127.0.0.1")
			tries   atomic.Int32
			victims atomic.Int32
		)
		address.Store(&good)
		victim := on(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { victims.Add(1) })
		_, port, err := net.SplitHostPort(victim.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		on(t, "127.0.0.2:"+port, func(w http.ResponseWriter, _ *http.Request) {
			tries.Add(1)
			address.Store(&bad)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		kind := newKind("numbers", "ops")
		started(t, db, map[string]tasknotify.Target{"ops": &tasknotify.Webhook{
			URL: "http://ops.example:" + port, PlainHTTP: true, Secrets: []string{secret(32)},
			Allow: []netip.Prefix{netip.PrefixFrom(good, 32)}, Resolver: nameServer(t, &address),
		}}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		id := submitted(t, db, kind, below(3))
		ended(t, db, id)
		all := deliveries(t, db, id)
		if len(all) != 1 {
			t.Fatalf("%d tasks deliver", len(all))
		}
		d := task(t, db, all[0].ID)
		if d.Status != taskkit.StatusFailure || !strings.HasPrefix(d.StatusDetail, "webhook_address: ") || !strings.Contains(d.StatusDetail, "127.0.0.1 is no address of the public network") {
			t.Errorf("ended as %s: %s", d.Status, d.StatusDetail)
		}
		if tries.Load() != 1 || victims.Load() != 0 {
			t.Errorf("%d tries at the allowed address and %d at the other, want 1 and 0", tries.Load(), victims.Load())
		}
	})
}
