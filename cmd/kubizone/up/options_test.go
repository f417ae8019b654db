// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/must"
)

func completeOptions(t *testing.T, arguments ...string) (*Config, error) {
	t.Helper()
	o := NewOptions()
	flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
	o.AddFlags(flags)
	must.Succeed(t, flags.Parse(arguments))
	return o.Complete(io.Discard)
}

func TestOptions_defaultsAreThoseOfALaptop(t *testing.T) {
	c := must.Get(completeOptions(t))(t)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if c.Listen.String() != "127.0.0.1:7443" || c.DNSListen.String() != "127.0.0.1:5300" || c.LoadNamespace != "default" ||
		!reflect.DeepEqual(c.DNSViews, []string{""}) || !reflect.DeepEqual(c.Allow, []primary.Rule{{Prefixes: loopback}}) || len(c.Notify) > 0 {
		t.Errorf("%+v", c)
	}
}

func TestOptions_readWhatTheyMean(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	must.Succeed(t, os.WriteFile(key, []byte(`key "transfer.example." { algorithm hmac-sha256; `+
		`secret "bmljZSBrZXkgZm9yIGEgdGVzdCBvZiB0cmFuc2ZlcnM="; };`), 0o600))
	zone := filepath.Join(dir, "a.zone")
	must.Succeed(t, os.WriteFile(zone, nil, 0o600))
	c := must.Get(completeOptions(t, "--listen", ":0", "--dns-listen", "localhost:53", "--dns-view", "", "--dns-view", "root", "--load",
		"root="+zone, "--load", "inside="+zone,
		"--transfer-allow", "192.0.2.1,2001:db8::/64", "--transfer-to", "192.0.2.53,[2001:db8::53]:5353", "--tsig-key-file", key))(t)
	if c.Listen.String() != "[::]:0" || c.DNSListen.String() != "127.0.0.1:53" || !reflect.DeepEqual(c.DNSViews, []string{"", "root"}) {
		t.Errorf("%+v", c)
	}
	allow := []primary.Rule{{Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")}, Key: "transfer.example."}}
	if !reflect.DeepEqual(c.Allow, allow) {
		t.Errorf("allow: %+v", c.Allow)
	}
	notify := []primary.Target{
		{Addr: netip.MustParseAddrPort("192.0.2.53:53"), Key: "transfer.example."},
		{Addr: netip.MustParseAddrPort("[2001:db8::53]:5353"), Key: "transfer.example."},
	}
	if !reflect.DeepEqual(c.Notify, notify) {
		t.Errorf("notify: %+v", c.Notify)
	}
	if len(c.Load) != 2 || c.Load[0].View != "root" || c.Load[0].Path != zone {
		t.Errorf("load: %+v", c.Load)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "--dns-view inside") {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

// U1: the error names the flag of each fault.
func TestOptions_sayAllThatIsWrong(t *testing.T) {
	_, err := completeOptions(t, "--data-dir", "", "--listen", "7443", "--dns-listen", "127.0.0.1:70000", "--load", "no-such-file",
		"--load-namespace", "A",
		"--dns-view", "x", "--dns-view", "x", "--dns-view", "X", "--transfer-allow", "192.0.2.1/24,world", "--transfer-to", "ns.example.org", "--tsig-key-file", "no-such-key")
	must.Say(t, err, "--data-dir: must not be empty", `--listen "7443"`, `--dns-listen "127.0.0.1:70000"`, "--load: load no-such-file",
		`--load-namespace "A"`,
		`--dns-view "x": named twice`, `--dns-view "X"`, `--transfer-allow "192.0.2.1/24": the address has bits beyond the prefix; write 192.0.2.0/24`,
		`--transfer-allow "world"`, `--transfer-to "ns.example.org"`, "no-such-key")
}
