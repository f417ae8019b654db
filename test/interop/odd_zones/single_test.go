// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package odd_zones

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// wired has uncompressed names.
type wired struct {
	value
	octets string // hexadecimal
}

// No value that the API accepts stops a transfer to BIND, Knot, NSD or PowerDNS (S5.11). If a transfer stops, the zone
// is halved until a single value is left, which the error names; TestEveryServerLoadsWhatTheAPIAdmits would name the
// zone only.
func TestNoValueStopsATransfer(t *testing.T) {
	all, _ := makeValues(t, readSamples(t), rand.New(rand.NewPCG(*seed, 0)))
	var list []wired
	for _, rt := range listTypes() {
		taken := all[rt]
		if *most > 0 {
			taken = taken[:min(*most, len(taken))]
		}
		for _, v := range taken {
			parsed := must.Get(rdata.Parse(rt, v.text))(t)
			octets := must.Get(parsed.Pack(within))(t)
			list = append(list, wired{v, hex.EncodeToString(octets)})
		}
	}
	for _, j := range judges {
		t.Run(j.name, func(t *testing.T) {
			for zones := slices.Collect(slices.Chunk(list, 200)); len(zones) > 0; {
				stopped := j.findStopped(t, zones)
				zones = nil
				for _, of := range stopped {
					if half := len(of) / 2; half > 0 {
						zones = append(zones, of[:half], of[half:])
					} else {
						t.Errorf("%s %.300s stops a zone", of[0].rtype, of[0].text)
					}
				}
			}
		})
	}
}

// findStopped returns the values of zones that do not arrive by AXFR.
func (j judge) findStopped(t *testing.T, zones [][]wired) (stopped [][]wired) {
	t.Helper()
	primary := must.Get(rig.FreePort())(t)
	in := map[string][]wired{}
	var waiting []held
	var secondaries []rig.SecondaryZone
	for i, of := range zones {
		zone := fmt.Sprintf("z%d.single.example.", i)
		in[zone] = of
		waiting = append(waiting, held{fqdn: zone, serial: 1})
		secondaries = append(secondaries, rig.SecondaryZone{Zone: zone, Primary: primary})
	}
	handOut(t, primary, in)
	r := j.startJudge(t, secondaries, nil)
	defer r.Close()
	for rounds := 0; len(waiting) > 0 && rounds < 100; rounds++ {
		time.Sleep(100 * time.Millisecond)
		serials, _ := r.dig.Serials(t.Context(), listNames(waiting))
		before := len(waiting)
		if waiting = slices.DeleteFunc(waiting, func(z held) bool { return serials[z.fqdn] == z.serial }); len(waiting) < before {
			rounds = 0
		}
		if rounds%30 == 29 { // PowerDNS gives up a transfer while its database is locked
			r.notifyZones(t, waiting)
		}
	}
	for _, z := range waiting {
		stopped = append(stopped, in[z.fqdn])
	}
	return stopped
}

func handOut(t *testing.T, at netip.AddrPort, zones map[string][]wired) {
	t.Helper()
	answer := func(w dns.ResponseWriter, query *dns.Msg) {
		zone, reply := strings.ToLower(query.Question[0].Name), new(dns.Msg)
		reply.SetReply(query)
		reply.Authoritative = true
		header := func(owner string, rtype uint16) dns.RR_Header {
			return dns.RR_Header{Name: owner, Rrtype: rtype, Class: dns.ClassINET, Ttl: 300}
		}
		soa := &dns.SOA{Hdr: header(zone, dns.TypeSOA), Ns: "ns.example.", Mbox: "hostmaster.example.", Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: 300}
		all := []dns.RR{soa}
		if kind := query.Question[0].Qtype; kind == dns.TypeAXFR || kind == dns.TypeIXFR && w.LocalAddr().Network() == "tcp" {
			all = append(all, &dns.NS{Hdr: header(zone, dns.TypeNS), Ns: "ns.example."})
			for i, v := range zones[zone] {
				all = append(all, &dns.RFC3597{Hdr: header(fmt.Sprintf("v%d.%s", i, zone), uint16(v.rtype)), Rdata: v.octets})
			}
			all = append(all, soa)
		}
		for len(all) > 0 {
			reply.Answer = all[:1]
			for n := 2; n <= len(all) && n <= 100 && reply.Len() < 1<<15; n++ {
				reply.Answer = all[:n]
			}
			all = all[len(reply.Answer):]
			if err := w.WriteMsg(reply); err != nil {
				t.Logf("%s: %v", zone, err)
				return
			}
		}
	}
	for _, network := range []string{"udp", "tcp"} {
		ready := make(chan struct{})
		s := &dns.Server{Addr: at.String(), Net: network, Handler: dns.HandlerFunc(answer), NotifyStartedFunc: func() { close(ready) }}
		ended := make(chan error, 1)
		go func() { ended <- s.ListenAndServe() }()
		select {
		case <-ready:
		case err := <-ended:
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Shutdown() })
	}
}
