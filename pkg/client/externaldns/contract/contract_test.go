// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func TestReadChanges_asExternalDNSWritesThem(t *testing.T) {
	c, err := ReadChanges(strings.NewReader(`{"create":[null,{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A",
		"recordTTL":60,"labels":{"resource":"ingress/team-a/web"}}],"updateOld":[{"dnsName":"a"}],"updateNew":[{"dnsName":"b"}]}`))
	if err != nil || len(c.Create) != 1 || len(c.UpdateNew) != 1 || c.UpdateNew[0].DNSName != "b" || len(c.Delete) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if key, err := c.Create[0].Key(); err != nil || key != (Key{name.MustParse("www.example.org."), rdata.A}) {
		t.Errorf("%v, %v", key, err)
	}
}

func TestReadEndpoints_areBounded(t *testing.T) {
	if _, err := ReadEndpoints(io.LimitReader(spaces{}, MaxBody+10)); err == nil || !strings.Contains(err.Error(), "octets") {
		t.Errorf("%v", err)
	}
	if all, err := ReadEndpoints(strings.NewReader("")); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

type spaces struct{}

func (spaces) Read(to []byte) (int, error) { return copy(to, bytes.Repeat([]byte(" "), len(to))), nil }

func TestOwnedName_isOfTextsAlone(t *testing.T) {
	labels := map[string]string{labelOwned: "WWW.example.org"}
	for want, e := range map[string]*Endpoint{
		"www.example.org.": {DNSName: "a-www.example.org", RecordType: "TXT", Targets: []string{"x"}, Labels: labels},
		"":                 {DNSName: "a-www.example.org", RecordType: "A", Targets: []string{"x"}, Labels: labels},
	} {
		if owned := e.OwnedName().String(); owned != want {
			t.Errorf("%q", owned)
		}
	}
}
