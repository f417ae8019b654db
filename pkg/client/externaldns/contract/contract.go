// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	// MediaType is the type of all bodies. external-dns compares the text exactly.
	MediaType = "application/external.dns.webhook+json;version=1"
	// MaxBody is the maximum size in octets, as in external-dns.
	MaxBody = 32 << 20

	// LabelResource is the label with the object of an endpoint, as KIND/NAMESPACE/NAME.
	LabelResource = "resource"
	// labelOwned is the label of a registry's TXT endpoint with the name of the RRset.
	labelOwned = "ownedRecord"
)

var Types = []rdata.Type{rdata.A, rdata.AAAA, rdata.CNAME, rdata.DNAME, rdata.MX, rdata.NAPTR, rdata.NS, rdata.PTR, rdata.SRV, rdata.TXT}

// Endpoint is an RRset in external-dns, which returns a provider's additions unchanged.
type Endpoint struct {
	DNSName          string            `json:"dnsName,omitempty"`
	Targets          []string          `json:"targets,omitempty"`
	RecordType       string            `json:"recordType,omitempty"`
	SetIdentifier    string            `json:"setIdentifier,omitempty"`
	RecordTTL        int64             `json:"recordTTL,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	ProviderSpecific []Property        `json:"providerSpecific,omitempty"`
}

type Property struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Changes are requested by external-dns. The old and the new endpoint of an update have the same index.
type Changes struct {
	Create    []*Endpoint `json:"create,omitempty"`
	UpdateOld []*Endpoint `json:"updateOld,omitempty"`
	UpdateNew []*Endpoint `json:"updateNew,omitempty"`
	Delete    []*Endpoint `json:"delete,omitempty"`
}

type Key struct {
	Name name.Name
	Type rdata.Type
}

// Key returns the key of the endpoint's RRset. If only the type is invalid, the key still has the name.
func (e *Endpoint) Key() (key Key, err error) {
	if key.Name, err = ParseName(e.DNSName); err != nil {
		return key, fmt.Errorf("dnsName %q: %w", e.DNSName, err)
	}
	if key.Type, err = rdata.ParseType(e.RecordType); err != nil {
		return key, fmt.Errorf("recordType %q: %w", e.RecordType, err)
	}
	return key, nil
}

func (k Key) String() string { return k.Name.String() + " " + k.Type.String() }

func ParseName(text string) (name.Name, error) {
	return name.Parse(strings.TrimSuffix(text, ".") + ".")
}

// OwnedName returns the name in a registry's TXT endpoint, or zero for other endpoints.
func (e *Endpoint) OwnedName() (owned name.Name) {
	if strings.EqualFold(e.RecordType, "TXT") && e.Labels[labelOwned] != "" && len(e.Targets) == 1 {
		owned, _ = ParseName(e.Labels[labelOwned]) // zero if invalid
	}
	return owned
}

// FormatTarget formats rdata as external-dns's NewEndpointWithTTL does: without a trailing dot, except for TXT, NAPTR,
// SRV and the root.
func FormatTarget(t rdata.Type, data string) string {
	if t == rdata.TXT || t == rdata.NAPTR || t == rdata.SRV || strings.HasSuffix(" "+data, " .") {
		return data
	}
	return strings.TrimSuffix(data, ".")
}

func ReadEndpoints(body io.Reader) (all []*Endpoint, err error) {
	err = readBody(body, &all)
	return dropNil(all), err
}

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
