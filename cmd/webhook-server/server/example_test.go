// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Account keeps records: replace the map by calls of a provider's API.
type Account struct {
	mu      sync.Mutex
	zone    name.Name
	records map[string]protocol.RRset
}

func joinKey(owner name.Name, t rdata.Type) string { return owner.String() + " " + t.String() }

func (a *Account) Apply(_ context.Context, zone name.Name, sets []protocol.RRset) []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	results := make([]error, len(sets))
	for i, set := range sets {
		switch {
		case zone != a.zone:
			results[i] = server.UnknownZoneError(zone)
		case len(set.Data) == 0:
			delete(a.records, joinKey(set.Name, set.Type))
		case set.TTL < 60:
			results[i] = protocol.Refuse(protocol.CodeInvalidRecord, "ttl %d: this provider takes 60 and more", set.TTL)
		default:
			a.records[joinKey(set.Name, set.Type)] = set
		}
	}
	return results
}

func (a *Account) Read(_ context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if zone != a.zone {
		return protocol.RRset{}, server.UnknownZoneError(zone)
	}
	return a.records[joinKey(owner, t)], nil
}

func (a *Account) Health(context.Context) error { return nil }

// A Backend of three methods makes a server for any store of records. Here a DNSClass's client delivers a zone to it.
func Example() {
	account := &Account{zone: name.MustParse("example.com."), records: map[string]protocol.RRset{}}
	handler, err := server.New(server.Config{
		Backend: account, Algorithm: protocol.SHA256,
		Secrets: func() ([][]byte, error) { return [][]byte{[]byte("shared")}, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	provider, err := webhook.New(webhook.Config{
		Server: server.URL, AllowLocalAddresses: true,
		HMAC: &webhook.HMAC{Algorithm: protocol.SHA256, Secret: []byte("shared")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	www, short := name.MustParse("www.example.com."), name.MustParse("short.example.com.")
	report, err := provider.Deliver(context.Background(), delivery.Plan{
		Zone: account.zone, Serial: 2, Since: 1,
		Changes: []delivery.Change{
			{After: delivery.RRset{Name: short, Type: rdata.A, TTL: 5, Data: []string{"192.0.2.1"}}},
			{After: delivery.RRset{Name: www, Type: rdata.A, TTL: 300, Data: []string{"192.0.2.1", "192.0.2.2"}}},
		},
	}, func(context.Context) error { return nil })
	fmt.Println(report.Confirmed, err)
	for _, failure := range report.Failed {
		fmt.Println(failure.Name, failure.Type, failure.Err.Reason, failure.Err.Code)
	}
	fmt.Println(account.records[joinKey(www, rdata.A)].Data)
	// Output:
	// 2 <nil>
	// short.example.com. A ValidationFailed INVALID_RECORD
	// [192.0.2.1 192.0.2.2]
}
