// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/primary"
)

// Options are the flags as they were written.
type Options struct {
	DataDir       string
	Listen        string
	DNSListen     string
	Load          []string
	LoadNamespace string
	DNSViews      []string
	TransferAllow []string
	TransferTo    []string
	TSIGKeyFile   string
	// AllowInlineSecrets takes DNSClasses with secrets in them.
	AllowInlineSecrets bool
	// Verbosity is the level of -v; above 3, etcd tells what it does, too.
	Verbosity int
}

// NewOptions are the defaults.
func NewOptions() *Options {
	return &Options{
		DataDir:       "kubizone-data",
		Listen:        "127.0.0.1:7443",
		DNSListen:     "127.0.0.1:5300",
		LoadNamespace: "default",
		DNSViews:      []string{""},
		TransferAllow: []string{"127.0.0.0/8", "::1/128"},
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory of everything that is kept: etcd, certificates, the kubeconfig; made if it is not there")
	flags.StringVar(&o.Listen, "listen", o.Listen, "address and port of the API; port 0 takes a free one")
	flags.StringVar(&o.DNSListen, "dns-listen", o.DNSListen, "address and port of the hidden primary, UDP and TCP; port 0 takes a free one")
	flags.StringArrayVar(&o.Load, "load", o.Load, "PATH or VIEW=PATH of manifests, a zone file or a directory of both, loaded through the API before it is ready; repeatable")
	flags.StringVar(&o.LoadNamespace, "load-namespace", o.LoadNamespace, "namespace of the objects made from zone files, and of manifests that name none")
	flags.StringArrayVar(&o.DNSViews, "dns-view", o.DNSViews, `view served by DNS, "" for the default view; repeatable: a name that is in several is served from the first`)
	flags.StringSliceVar(&o.TransferAllow, "transfer-allow", o.TransferAllow, "addresses or prefixes that may ask for SOA and transfers")
	flags.StringSliceVar(&o.TransferTo, "transfer-to", o.TransferTo, "secondaries told of new serials, ADDRESS or ADDRESS:PORT")
	flags.BoolVar(&o.AllowInlineSecrets, "allow-inline-secrets", o.AllowInlineSecrets, "take DNSClasses that hold a secret themselves; everybody reads it who may read classes: for tests")
	flags.StringVar(&o.TSIGKeyFile, "tsig-key-file", o.TSIGKeyFile, "file of TSIG keys as tsig-keygen writes them: transfers then need one of them, and the first signs what is sent to secondaries")
}

// Config is what the options mean.
type Config struct {
	DataDir       string
	Listen        netip.AddrPort
	DNSListen     netip.AddrPort
	Load          []load.Source
	LoadNamespace string
	DNSViews      []string
	Keys          []primary.Key
	Allow         []primary.Rule
	Notify        []primary.Target
	// AllowInlineSecrets: see Options.
	AllowInlineSecrets bool
	// Warnings are for the operator and stop nothing.
	Warnings  []string
	Verbosity int
	// Out takes the lines for people.
	Out io.Writer
}

// Complete reads the options, and files they name, and reports all that is wrong with them (U1).
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{DataDir: o.DataDir, LoadNamespace: o.LoadNamespace, DNSViews: o.DNSViews, AllowInlineSecrets: o.AllowInlineSecrets, Verbosity: o.Verbosity, Out: out}
	var wrong []error
	fault := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if o.DataDir == "" {
		fault(errors.New("--data-dir: must not be empty; name a directory that this user may write"))
	}
	var err error
	c.Listen, err = listenAddress("--listen", o.Listen, 7443)
	fault(err)
	c.DNSListen, err = listenAddress("--dns-listen", o.DNSListen, 5300)
	fault(err)
	for _, text := range o.Load {
		source, err := load.ParseSource(text)
		if err == nil {
			_, err = source.Files()
		}
		if err != nil {
			fault(fmt.Errorf("--load: %w", err))
			continue
		}
		c.Load = append(c.Load, source)
	}
	if broken := validation.IsDNS1123Label(o.LoadNamespace); len(broken) > 0 {
		fault(fmt.Errorf("--load-namespace %q: %s", o.LoadNamespace, strings.Join(broken, ", ")))
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
	for _, source := range c.Load {
		if source.View != "" && !seen[source.View] {
			c.Warnings = append(c.Warnings, fmt.Sprintf("view %s is loaded but not served by DNS: add --dns-view %s to serve it", source.View, source.View))
		}
	}
	if o.TSIGKeyFile != "" {
		keys, warnings, err := primary.ReadKeyFile(o.TSIGKeyFile)
		if err != nil {
			fault(fmt.Errorf("--tsig-key-file: %w", err))
		}
		c.Keys = keys
		c.Warnings = append(c.Warnings, warnings...)
	}
	var prefixes []netip.Prefix
	for _, text := range o.TransferAllow {
		prefix, err := parsePrefix(text)
		fault(err)
		prefixes = append(prefixes, prefix)
	}
	if len(prefixes) > 0 {
		c.Allow = primary.Rules(prefixes, c.Keys)
	}
	for _, text := range o.TransferTo {
		address, err := parseTarget(text)
		fault(err)
		target := primary.Target{Addr: address}
		if len(c.Keys) > 0 {
			target.Key = c.Keys[0].Name
		}
		c.Notify = append(c.Notify, target)
	}
	return c, errors.Join(wrong...)
}

// listenAddress takes ADDRESS:PORT; localhost and an empty address (all) are understood.
func listenAddress(flag, text string, usual int) (netip.AddrPort, error) {
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

func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("--transfer-allow %q: neither an address nor a prefix; write 192.0.2.53 or 2001:db8::/64", text)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("--transfer-allow %q: the address has bits beyond the prefix; write %s, or %s for this one address", text, prefix.Masked(), prefix.Addr())
	}
	return prefix, nil
}

func parseTarget(text string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(address, 53), nil
	}
	target, err := netip.ParseAddrPort(text)
	if err != nil || target.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("--transfer-to %q: not an address of a secondary; write 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:5353", text)
	}
	return target, nil
}
