// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// MediaType is that of all bodies. external-dns compares it octet by octet.
	MediaType = "application/external.dns.webhook+json;version=1"
	// MaxBody is the most octets that a body may have; external-dns has the same limit.
	MaxBody = 32 << 20

	// labelResource is KIND/NAMESPACE/NAME of the object that an endpoint comes from.
	labelResource = "resource"
	// labelOwned is on the TXT endpoints of external-dns' registry: the name of the RRset that they speak for.
	labelOwned = "ownedRecord"
	// heritage begins what such a TXT says.
	heritage = "heritage=external-dns"
)

// Endpoint is one RRset as external-dns has it.
type Endpoint struct {
	DNSName          string            `json:"dnsName,omitempty"`
	Targets          []string          `json:"targets,omitempty"`
	RecordType       string            `json:"recordType,omitempty"`
	SetIdentifier    string            `json:"setIdentifier,omitempty"`
	RecordTTL        int64             `json:"recordTTL,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	ProviderSpecific []Property        `json:"providerSpecific,omitempty"`
}

// Property is a setting for one provider.
type Property struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Changes are what external-dns wants changed. UpdateOld and UpdateNew are in the same order.
type Changes struct {
	Create    []*Endpoint `json:"create,omitempty"`
	UpdateOld []*Endpoint `json:"updateOld,omitempty"`
	UpdateNew []*Endpoint `json:"updateNew,omitempty"`
	Delete    []*Endpoint `json:"delete,omitempty"`
}

// Key is an RRset: the absolute name in canonical form, and the type in capitals.
type Key struct{ Name, Type string }

// Key is the RRset of the endpoint, or why it is none.
func (e *Endpoint) Key() (Key, error) {
	fqdn, err := name.Parse(strings.TrimSuffix(e.DNSName, ".") + ".")
	if err != nil {
		return Key{}, fmt.Errorf("dnsName %q: %w", e.DNSName, err)
	}
	return Key{fqdn.String(), strings.ToUpper(e.RecordType)}, nil
}

// String is the RRset for people.
func (k Key) String() string { return k.Name + " " + k.Type }

// OwnedName is the name that a TXT endpoint of external-dns' registry speaks for; "" for any other endpoint.
func (e *Endpoint) OwnedName() string {
	if !strings.EqualFold(e.RecordType, "TXT") || e.Labels[labelOwned] == "" || len(e.Targets) != 1 {
		return ""
	}
	owned, err := name.Parse(strings.TrimSuffix(e.Labels[labelOwned], ".") + ".")
	if err != nil {
		return ""
	}
	return owned.String()
}

// ReadEndpoints reads the body of adjustendpoints.
func ReadEndpoints(body io.Reader) ([]*Endpoint, error) {
	var endpoints []*Endpoint
	err := readBody(body, &endpoints)
	return dropNil(endpoints), err
}

// ReadChanges reads the body of a change.
func ReadChanges(body io.Reader) (c Changes, err error) {
	err = readBody(body, &c)
	c.Create, c.Delete, c.UpdateNew = dropNil(c.Create), dropNil(c.Delete), dropNil(c.UpdateNew)
	return c, err
}

func readBody(body io.Reader, into any) error {
	data, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if len(data) > MaxBody {
		return fmt.Errorf("body: more than %d octets, which external-dns does not send either; give it fewer sources", MaxBody)
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("body: %w; it is JSON as external-dns v0.22 sends it", err)
	}
	return nil
}

func dropNil(endpoints []*Endpoint) []*Endpoint {
	return slices.DeleteFunc(endpoints, func(e *Endpoint) bool { return e == nil })
}
