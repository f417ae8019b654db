// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"net/netip"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/test/rig"
)

// Each refusal of a question for the SOA has its own cause and next step. SERVFAIL is the answer of a server whose
// transfers fail: to follow the catalog would be no help.
func TestProbe_namesEachRefusal_S7_12(t *testing.T) {
	w := beginWorld(t)
	key := rig.TSIGKey{Name: "k.example.", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IG9mIHRoZSB0ZXN0IG9mIHJlZnVzYWxz"}
	for _, test := range []struct {
		name       string
		rcode      int
		silent     bool
		noCatalog  bool
		key        *transfer.Key
		reason     delivery.Reason
		code, says string
	}{
		{name: "absent", rcode: mdns.RcodeRefused, reason: delivery.ReasonZoneNotFound, code: "REFUSED", says: "follow the catalog zone"},
		{name: "absent, without a catalog", rcode: mdns.RcodeNotAuth, noCatalog: true, reason: delivery.ReasonZoneNotFound, code: "NOTAUTH",
			says: "make the zone there"},
		{name: "no data", rcode: mdns.RcodeServerFailure, reason: delivery.ReasonZoneNotFound, code: "SERVFAIL",
			says: "see its log for transfers"},
		{name: "silent", silent: true, reason: delivery.ReasonServerUnreachable, says: "no answer"},
		{name: "unsigned", key: &transfer.Key{Name: key.Name, Algorithm: key.Algorithm + ".",
			MAC: func(...[]byte) []byte { return make([]byte, 32) }}, reason: delivery.ReasonAuthenticationFailed, says: "key"},
	} {
		s := newSecondary(t, nil)
		if test.rcode == 0 || test.rcode != mdns.RcodeRefused {
			s.serial.Store(7)
		}
		s.rcode.Store(int32(test.rcode))
		s.silent.Store(test.silent)
		one := Secondary{Name: "a", Addr: netip.AddrPortFrom(s.addr.Addr(), s.addr.Port()), NoCatalog: test.noCatalog, Key: test.key}
		got := w.makeProvider(t, one).probeSOA(t.Context(), one, name.MustParse("example.org."), packetTimeout)
		if got.err == nil || got.err.Reason != test.reason || got.err.Code != test.code || !strings.Contains(got.err.Message, test.says) {
			t.Errorf("%s: %+v", test.name, got.err)
		}
	}
}
