// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsserving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/primary/updates"
)

type Options struct {
	DNSListen     string
	DNSTLSListen  string
	DNSViews      []string
	TransferAllow []string
	TransferTo    []string
	TSIGKeyFile   string
}

func NewOptions() Options {
	return Options{
		DNSListen:     "127.0.0.1:5300",
		DNSViews:      []string{""},
		TransferAllow: []string{"127.0.0.0/8", "::1/128"},
	}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DNSListen, "dns-listen", o.DNSListen, "address and port of the hidden primary, UDP and TCP; port 0 takes a free one")
	flags.StringVar(&o.DNSTLSListen, "dns-tls-listen", o.DNSTLSListen, "address and port for transfers over TLS, of DNSClasses with tls "+
		"(RFC 9103); port 0 takes a free one; empty: none, and these classes are not served")
	flags.StringArrayVar(&o.DNSViews, "dns-view", o.DNSViews, `view served by DNS, "" for the default view; repeatable: `+
		`a name that is in several is served from the first`)
	flags.StringSliceVar(&o.TransferAllow, "transfer-allow", o.TransferAllow, "addresses or prefixes that may ask for SOA and transfers")
	flags.StringSliceVar(&o.TransferTo, "transfer-to", o.TransferTo, "secondaries that get NOTIFY, ADDRESS or ADDRESS:PORT")
	flags.StringVar(&o.TSIGKeyFile, "tsig-key-file", o.TSIGKeyFile, "file of TSIG keys as tsig-keygen writes them: "+
		"transfers then need one of them, and the first signs what is sent to secondaries")
}

type Config struct {
	DNSListen netip.AddrPort
	// DNSTLSListen is zero without a port for TLS.
	DNSTLSListen netip.AddrPort
	DNSViews     []string
	Keys         []tsig.Key
	Allow        []primary.Rule
	Notify       []primary.Target
	Reachable    func(ctx context.Context)
	Traces       trace.TracerProvider
}

// Primary returns a primary with a bound port, so that a taken port is an error before other parts start.
func (c *Config) Primary(zones primary.Zones, updates updates.Handler) (*primary.Primary, error) {
	dns, err := primary.New(primary.Config{
		Zones: zones, Views: c.DNSViews, Listen: c.DNSListen, ListenTLS: c.DNSTLSListen,
		Keys: c.Keys, Allow: c.Allow, Notify: c.Notify, Reachable: c.Reachable, Updates: updates, Traces: c.Traces,
	})
	if err != nil {
		return nil, fmt.Errorf("--dns-listen, --dns-tls-listen: %w", err)
	}
	return dns, nil
}

// Complete returns the configuration, or all errors of the flags together. Without prefixes, Allow is empty.
func (o *Options) Complete() (c Config, warnings []string, err error) {
	c.DNSViews = o.DNSViews
	var wrong []error
	fault := func(err error) { wrong = append(wrong, err) }
	c.DNSListen, err = ListenAddress("--dns-listen", o.DNSListen, 5300)
	fault(err)
	if o.DNSTLSListen != "" {
		c.DNSTLSListen, err = ListenAddress("--dns-tls-listen", o.DNSTLSListen, 8530)
		fault(err)
	}
	seen := make(map[string]bool)
	for _, view := range o.DNSViews {
		if view != "" {
			if broken := validation.IsDNS1123Label(view); len(broken) > 0 {
				fault(fmt.Errorf("--dns-view %q: %s", view, strings.Join(broken, ", ")))
			}
		}
		if seen[view] {
			fault(fmt.Errorf("--dns-view %q: named twice; name each view once, the first that has a name serves it", view))
		}
		seen[view] = true
	}
	if o.TSIGKeyFile != "" {
		keys, read, err := tsig.ReadKeyFile(o.TSIGKeyFile)
		if err != nil {
			fault(fmt.Errorf("--tsig-key-file: %w", err))
		}
		c.Keys = keys
		warnings = append(warnings, read...)
	}
	var prefixes []netip.Prefix
	for _, text := range o.TransferAllow {
		prefix, err := parsePrefix(text)
		fault(err)
		prefixes = append(prefixes, prefix)
	}
	// Without a prefix, only the classes admit secondaries.
	if len(prefixes) > 0 {
		c.Allow = primary.Rules(prefixes, c.Keys)
	}
	for _, text := range o.TransferTo {
		address, err := parseTarget(text)
		fault(err)
		target := primary.Target{Addr: address}
		// The first key of the file signs NOTIFY to all secondaries of the flag.
		if len(c.Keys) > 0 {
			target.Key = c.Keys[0].Name
		}
		c.Notify = append(c.Notify, target)
	}
	return c, warnings, errors.Join(wrong...)
}

// ListenAddress parses ADDRESS:PORT. The address may be localhost; empty means all.
func ListenAddress(flag, text string, usual int) (netip.AddrPort, error) {
	example := fmt.Sprintf("write an address and a port, like 127.0.0.1:%d", usual)
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s %q: %s", flag, text, example)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s %q: port %q is not a number from 0 to 65535; %s", flag, text, portText, example)
	}
	switch host {
	case "localhost":
		host = "127.0.0.1"
	case "":
		host = "::"
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s %q: %q is not an address; %s", flag, text, host, example)
	}
	return netip.AddrPortFrom(address, uint16(port)), nil
}

// parsePrefix parses an address or a prefix. An IPv4 address in IPv6 form becomes IPv4. Bits beyond the prefix are an
// error, since the user may mean the address.
func parsePrefix(text string) (netip.Prefix, error) {
	// A zone index such as %eth0 is of this machine alone.
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("--transfer-allow %q: neither an address nor a prefix; write 192.0.2.53 or 2001:db8::/64", text)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("--transfer-allow %q: the address has bits beyond the prefix; write %s, "+
			"or %s for this one address", text, prefix.Masked(), prefix.Addr())
	}
	return prefix, nil
}

func parseTarget(text string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(address, 53), nil
	}
	target, err := netip.ParseAddrPort(text)
	if err != nil || target.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("--transfer-to %q: not an address of a secondary; write 192.0.2.53, "+
			"192.0.2.53:5353 or [2001:db8::53]:5353", text)
	}
	return target, nil
}
