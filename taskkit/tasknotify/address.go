package tasknotify

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// AddressError is an address that a [Webhook] must not be sent to.
type AddressError struct {
	Address netip.Addr
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is no address of the public network: name it in Webhook.Allow if the receiver is there", e.Address)
}

// reserved are the networks that are not public, beside the networks that package netip names.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"168.63.129.16/32",               // the metadata of Azure
	"::/96",                          // IPv4-compatible
	"64:ff9b::/96", "64:ff9b:1::/48", // NAT64
	"100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(networks ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(networks))
	for i, text := range networks {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// public reports whether an address is of the public network.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// checkAddress returns an *[AddressError] for an address that is neither public nor allowed.
func checkAddress(a netip.Addr, allow []netip.Prefix) error {
	plain := a.Unmap().WithZone("")
	for _, p := range allow {
		if p.Contains(plain) {
			return nil
		}
	}
	if !public(a) {
		return &AddressError{a}
	}
	return nil
}

// control returns the function of [net.Dialer.Control] that checks each address that is dialled, after its name was resolved.
func control(allow []netip.Prefix) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("dial %s: %w", address, err)
		}
		a, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("dial %s: %w", address, err)
		}
		return checkAddress(a, allow)
	}
}
