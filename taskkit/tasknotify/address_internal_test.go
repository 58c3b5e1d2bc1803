package tasknotify

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Addresses that are not public are refused in each of their forms, unless they are allowed.
func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1", "ff02::1",
		"240.0.0.1", "255.255.255.255", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1",
		"2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
	} {
		var refused *AddressError
		if err := checkAddress(netip.MustParseAddr(text), nil); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want an *AddressError", text, err)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.0", "::ffff:1.1.1.1", "2606:4700::1111", "2a00:1450::1"} {
		if err := checkAddress(netip.MustParseAddr(text), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128")}
	for text, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "::1": true, "10.2.0.1": false, "127.0.0.1": false} {
		if err := checkAddress(netip.MustParseAddr(text), allow); (err == nil) != want {
			t.Errorf("%s with an exception: %v, want it allowed: %t", text, err, want)
		}
	}
}

// Dialled addresses are checked as the dialer writes them.
func TestControl(t *testing.T) {
	t.Parallel()
	f := control(nil)
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%lo]:80", "[::ffff:10.0.0.1]:80"} {
		var refused *AddressError
		if err := f("tcp", address, nil); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want an *AddressError", address, err)
		}
	}
	if err := f("tcp4", "1.1.1.1:443", nil); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"nowhere", "name:80"} {
		if f("tcp", address, nil) == nil {
			t.Errorf("%s is let through", address)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-1": 0, "soon": 0, "1.5": 0, "4294967295": maxRetryAfter, "99999999999999999999": 0,
		now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0, now.AddDate(9, 0, 0).Format(http.TimeFormat): maxRetryAfter,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", text, got, want)
		}
	}
}

// The signature is the one of the example in the text of Standard Webhooks.
func TestSign(t *testing.T) {
	t.Parallel()
	key, err := decodeSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := sign([][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed as %s, want %s", got, want)
	}
}
