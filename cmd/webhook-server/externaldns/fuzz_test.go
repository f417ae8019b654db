// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"encoding/json"
	"slices"
	"testing"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// A listed RRset has valid data of its type, and survives a write.
func FuzzMakeListing(f *testing.F) {
	for _, body := range []string{
		`[{"dnsName":"www.example.org","targets":["192.0.2.1","192.0.2.2"],"recordType":"A","labels":{"owner":"x"}}]`,
		`[{"dnsName":"WWW.example.org.","targets":["10 mx.example.org","0 ."],"recordType":"MX","recordTTL":-1}]`,
		`[{"dnsName":"t.example.org","targets":["\"a\" \"b\"","a\"b","\"open","\\200"],"recordType":"TXT"},{"dnsName":"t.example.org"}]`,
		`[{"dnsName":"*.a.example","targets":["x.elb.a.example"],"recordType":"A","providerSpecific":[{"name":"alias"}]}]`,
		`[{"dnsName":"w.example.org","targets":["192.0.2.1"],"recordType":"A","setIdentifier":"eu"}]`,
		`[{"dnsName":"é.example.org","targets":[".", "@", "a b", ""],"recordType":"CNAME","recordTTL":9223372036854775807}]`,
		`[{"dnsName":"s.example.org","targets":["1 2 3 host.example.org."],"recordType":"SRV"},null]`,
		`null`, `{}`, `[[]]`, `[{"dnsName":1}]`,
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, plainText bool) {
		var endpoints []contract.Endpoint
		if json.Unmarshal(body, &endpoints) != nil {
			return
		}
		for key, s := range makeListing(endpoints, plainText) {
			if s.foreign != "" {
				continue
			}
			for _, data := range s.data {
				if _, err := rdata.FromRR(key.Type, data, key.Name); err != nil {
					t.Fatalf("%s %s %q: %v", key.Name, key.Type, data, err)
				}
			}
			if !slices.Contains(contract.Types, key.Type) {
				continue
			}
			written, err := endpointOf(protocol.RRset{Name: key.Name, Type: key.Type, TTL: s.ttl, Data: s.data}, plainText)
			if err != nil {
				continue // read differently by providers
			}
			again, err := dataOf(written, key.Type, plainText)
			if err != nil || !slices.Equal(server.Meaning(key.Type, again), server.Meaning(key.Type, s.data)) {
				t.Fatalf("%s %s %q is written as %q and read as %q, %v", key.Name, key.Type, s.data, written.Targets, again, err)
			}
		}
	})
}
