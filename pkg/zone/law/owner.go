// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type Digest [sha256.Size]byte

func (d Digest) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, d[:]), nil
}

func (d *Digest) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.DecodeString(string(text))
	if err != nil || len(b) != len(d) {
		return fmt.Errorf("%q is no digest", text)
	}
	copy(d[:], b)
	return nil
}

func DigestOf(data string) Digest { return sha256.Sum256([]byte(data)) }

// OwnerValue is a value at a name, and the count of Records with the same type, data and TTL.
type OwnerValue struct {
	Type   rdata.Type `json:"t"`
	Digest Digest     `json:"d"` // of the data
	// TTL is in seconds; nil means the zone's default.
	TTL   *uint32 `json:"l,omitempty"`
	Count int     `json:"c"`
	// Guests is the part of Count from tenants whose rule names an underscore label, such as "_acme-challenge.*".
	Guests int `json:"g,omitempty"`
	// Size is in octets on the wire.
	Size int `json:"s"`
	// SPF is true for a TXT value that is an SPF policy.
	SPF bool `json:"p,omitempty"`
	// Alias is the host of a CNAME, as written.
	Alias string `json:"h,omitempty"`
}

// Owner is everything stored about a name in a zone: its values, and the namespaces that have rights there.
type Owner struct {
	Values []OwnerValue `json:"v,omitempty"`
	// Cut holds the NS, glue and DS records of child zones at this name, and derived PTR, without Size. A Record may
	// have the same value.
	Cut []OwnerValue `json:"x,omitempty"`
	// Claims lists the namespaces that claim this name. A wildcard or underscore name claims the base, the labels after
	// the last "*" or "_" label: "*.apps" and "_acme-challenge.apps" both claim apps.
	Claims []Claim `json:"k,omitempty"`
	// Named lists the namespaces with this name reserved by Delegations, sorted.
	Named []Naming `json:"n,omitempty"`
	// Own counts the own namespace's records at this underscore name, and at the wildcard directly below.
	Own int `json:"o,omitempty"`
	// Pointers counts the own namespace's records, such as CNAME and MX, that lead to hosts with this base name.
	Pointers int `json:"r,omitempty"`
}

type Naming struct {
	Namespace string `json:"n"`
	Count     int    `json:"c"`
}

const MaxNamed = 64

func (o *Owner) IsReservedFor(namespace string) bool {
	return o != nil && slices.ContainsFunc(o.Named, func(x Naming) bool { return x.Namespace == namespace })
}

// CountNaming adds delta, 1 or -1, to the count of Delegations that reserve o's name for a namespace. The result is
// false if the count would be negative.
func (o *Owner) CountNaming(namespace string, delta int) bool {
	i, found := slices.BinarySearchFunc(o.Named, namespace, func(naming Naming, namespace string) int {
		return strings.Compare(naming.Namespace, namespace)
	})
	if !found {
		o.Named = slices.Insert(o.Named, i, Naming{Namespace: namespace})
	}
	o.Named[i].Count += delta
	valid := o.Named[i].Count >= 0
	if o.Named[i].Count <= 0 {
		o.Named = slices.Delete(o.Named, i, i+1)
	}
	return valid
}

// IsClaimed reports whether a claim keeps other tenants from the name.
func (o *Owner) IsClaimed() bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Holds() })
}

// HasData reports whether the name has records, or NS, glue or DS of child zones.
func (o *Owner) HasData() bool { return o != nil && len(o.Values)+len(o.Cut) > 0 }

// IsClaimedBeside reports whether another namespace than the given one has records with this base.
func (o *Owner) IsClaimedBeside(namespace string) bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Namespace != namespace })
}

// Fact returns the value to store, or nil to delete the key if o is empty.
func (o *Owner) Fact() any {
	if o == nil || len(o.Values)+len(o.Cut)+len(o.Claims)+len(o.Named)+o.Own+o.Pointers == 0 {
		return nil
	}
	return o
}

// Claim counts a namespace's records that keep other tenants from a name and the names above and below. The fields
// differ by the rule that allowed the record, because some rules make exceptions. A tenant's records by underscore
// rules do not count.
type Claim struct {
	Namespace string `json:"n"`
	// Plain counts records by a rule without the exceptions below.
	Plain int `json:"p,omitempty"`
	// Literal counts records by a pattern without "*", allowed below and above other claims.
	Literal int `json:"l,omitempty"`
	// Shared counts records by a rule with shared: true, whose namespaces share the name.
	Shared int `json:"s,omitempty"`
	// Underscore counts records of the zone's own namespace at underscore names.
	Underscore int `json:"u,omitempty"`
}

type Count struct {
	Records int64 `json:"c"`
}

// Member orders a record in cascades. Created is in Unix seconds.
type Member struct {
	UID     string `json:"uid"`
	Created int64  `json:"t"`
}

// OwnersBelow sums up all names strictly below a name, so that decisions need not read each of them.
type OwnersBelow struct {
	RecordNames int
	Claims      []Claim
	// ReservedNames counts the names reserved by Delegations, ReservedFor the same by namespace.
	ReservedNames int
	ReservedFor   []Naming
	// PointerHosts holds the first MaxPointerHosts names without records that own records point to, such as the host of
	// an MX.
	PointerHosts []name.Rel
	HiddenBelow
}

func (b *OwnersBelow) ReservesForOthers(namespace string) bool {
	if b == nil {
		return false
	}
	i := slices.IndexFunc(b.ReservedFor, func(x Naming) bool { return x.Namespace == namespace })
	return b.ReservedNames > 0 && (i < 0 || b.ReservedFor[i].Count < b.ReservedNames)
}

// Add requires the owners in key order.
func (b *OwnersBelow) Add(up, at name.Rel, o *Owner) {
	b.countOwner(up, at, o)

	if len(o.Values) > 0 {
		b.RecordNames++
	} else if o.Pointers > 0 && len(b.PointerHosts) < MaxPointerHosts {
		// A tenant may take a host without records (S4.26).
		b.PointerHosts = append(b.PointerHosts, at)
	}

	if len(o.Named) > 0 {
		b.ReservedNames++
	}

	for _, x := range o.Named {
		if i := slices.IndexFunc(b.ReservedFor, func(y Naming) bool { return y.Namespace == x.Namespace }); i >= 0 {
			b.ReservedFor[i].Count++
		} else {
			b.ReservedFor = append(b.ReservedFor, Naming{x.Namespace, 1})
		}
	}

	for _, c := range o.Claims {
		i := slices.IndexFunc(b.Claims, func(x Claim) bool { return x.Namespace == c.Namespace })
		if i < 0 {
			b.Claims = append(b.Claims, c)
			continue
		}
		x := &b.Claims[i]
		x.Plain, x.Literal, x.Shared, x.Underscore = x.Plain+c.Plain, x.Literal+c.Literal, x.Shared+c.Shared, x.Underscore+c.Underscore
	}
}

const (
	MaxTypesAtName  = 100
	MaxValuesAtName = 1000 // a value counts for each TTL
	// MaxDS limits a child's DS records in the parent. Limits of Records leave room for them.
	MaxDS = 16
	// MaxPointerHosts limits a record's hosts to look up and count.
	MaxPointerHosts = 8
)

func sameTTL(l, r *uint32) bool {
	return l == r || l != nil && r != nil && *l == *r
}

func (o *Owner) Clone() *Owner {
	if o == nil {
		return &Owner{}
	}
	out := *o
	out.Values, out.Cut, out.Claims = slices.Clone(o.Values), slices.Clone(o.Cut), slices.Clone(o.Claims)
	out.Named = slices.Clone(o.Named)
	return &out
}

func (o *Owner) indexOf(t rdata.Type, d Digest, ttl *uint32) int {
	return slices.IndexFunc(o.Values, func(v OwnerValue) bool { return v.Type == t && v.Digest == d && sameTTL(v.TTL, ttl) })
}

func (o *Owner) HasValue(t rdata.Type, d Digest) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Type == t && v.Digest == d })
}

func (o *Owner) SharesType(c *Contribution) bool {
	others := o.Clone()
	others.RemoveContribution(c, 0)
	return others.HasType(c.Type)
}

func (o *Owner) HasOtherSPF(d Digest) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.SPF && v.Digest != d })
}

func (o *Owner) HasOther(t rdata.Type, d Digest) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Type == t && v.Digest != d })
}

func (o *Owner) HasType(t rdata.Type) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Type == t })
}

func (o *Owner) HasCut() bool { return o != nil && len(o.Cut) > 0 }

// AddContribution adds a record's values to o, with their sizes in octets on the wire. The number guests is 1 if a
// tenant's underscore rule, such as "_acme-challenge.*", allows the record, or else 0.
func (o *Owner) AddContribution(record *Contribution, sizes []int, guests int) {
	for i, value := range record.Values {
		digest := DigestOf(value.Text)
		if index := o.indexOf(record.Type, digest, record.TTL); index >= 0 { // another record has the value, too
			o.Values[index].Count++
			o.Values[index].Guests += guests
			continue
		}
		o.Values = append(o.Values, OwnerValue{Type: record.Type, Digest: digest, TTL: record.TTL, Count: 1, Guests: guests, Size: sizes[i],
			SPF: record.Type == rdata.TXT && rdata.IsSPF(value.Text), Alias: AliasOf(value)})
	}
	slices.SortFunc(o.Values, CompareOwnerValues)
}

// AliasOf returns the host of a CNAME, as written, or "" for another type.
func AliasOf(v rdata.Value) string {
	if v.Type != rdata.CNAME {
		return ""
	}
	return v.Host()
}

// Alias returns the host of the CNAME at the name, as written, or "".
func (o *Owner) Alias() string {
	if o == nil {
		return ""
	}
	for i := range o.Values {
		if o.Values[i].Alias != "" {
			return o.Values[i].Alias
		}
	}
	return ""
}

func CompareOwnerValues(x, y OwnerValue) int {
	ttl := func(v OwnerValue) int64 {
		if v.TTL == nil {
			return -1
		}
		return int64(*v.TTL)
	}
	return cmp.Or(cmp.Compare(x.Type, y.Type), slices.Compare(x.Digest[:], y.Digest[:]), cmp.Compare(ttl(x), ttl(y)))
}

// RemoveContribution reverses AddContribution. The result is false if a value was not counted.
func (o *Owner) RemoveContribution(c *Contribution, guests int) bool {
	counted := true
	for _, v := range c.Values {
		j := o.indexOf(c.Type, DigestOf(v.Text), c.TTL)
		if j < 0 || o.Values[j].Guests < guests {
			counted = false
			continue
		}
		o.Values[j].Guests -= guests
		if o.Values[j].Count--; o.Values[j].Count == 0 {
			o.Values = slices.Delete(o.Values, j, j+1)
		}
	}
	return counted
}

// RRsetTTL returns the TTL of the Records' RRset, or nil.
func (o *Owner) RRsetTTL(t rdata.Type) *content.TTL {
	if o == nil {
		return nil
	}
	return ttlOf(o.Values, t)
}

func (o *Owner) DefinesValue(t rdata.Type, d Digest) bool {
	return o.HasValue(t, d) || o != nil && slices.ContainsFunc(o.Cut, func(v OwnerValue) bool { return v.Type == t && v.Digest == d })
}

// DefinedTTL returns the TTL of the RRset of Records and cuts, or nil.
func (o *Owner) DefinedTTL(t rdata.Type) *content.TTL {
	if o == nil {
		return nil
	}
	if len(o.Cut) == 0 {
		return ttlOf(o.Values, t)
	}
	return ttlOf(slices.Concat(o.Values, o.Cut), t)
}

// CountCut adds n, 1 or -1, to the count of each value of a child's cut at o's name.
func (o *Owner) CountCut(s content.RRset, n int) {
	var ttl *uint32
	if s.TTL.Explicit {
		ttl = &s.TTL.Seconds
	}
	for _, data := range s.Data {
		v := OwnerValue{Type: s.Type, Digest: DigestOf(data), TTL: ttl, Count: n}
		i := slices.IndexFunc(o.Cut, func(x OwnerValue) bool { return CompareOwnerValues(x, v) == 0 })
		switch {
		case i < 0 && n > 0:
			o.Cut = append(o.Cut, v)
		case i >= 0:
			if o.Cut[i].Count += n; o.Cut[i].Count == 0 {
				o.Cut = slices.Delete(o.Cut, i, i+1)
			}
		}
	}
	slices.SortFunc(o.Cut, CompareOwnerValues)
}

// ttlOf returns the TTL of the values of type t, or nil without such values. The smallest explicit TTL counts, and a
// value without TTL inherits the zone's.
func ttlOf(values []OwnerValue, t rdata.Type) *content.TTL {
	var out *content.TTL
	for _, v := range values {
		if v.Type != t {
			continue
		}
		if out == nil {
			out = &content.TTL{}
		}
		switch {
		case v.TTL == nil:
			out.Inherit = true
		case !out.Explicit || *v.TTL < out.Seconds:
			out.Explicit, out.Seconds = true, *v.TTL
		}
	}
	return out
}

// CountDistinct returns the number of different values of a type, whatever their TTL, and the sum of their octets on
// the wire.
func (o *Owner) CountDistinct(t rdata.Type) (values, octets int) {
	var last Digest
	for _, v := range o.Values { // sorted by type, digest
		if v.Type != t || values > 0 && v.Digest == last {
			continue
		}
		last = v.Digest
		values++
		octets += v.Size
	}
	return values, octets
}

func (o *Owner) Types() []rdata.Type {
	var out []rdata.Type
	if o == nil {
		return nil
	}
	for _, v := range o.Values {
		if len(out) == 0 || out[len(out)-1] != v.Type {
			out = append(out, v.Type)
		}
	}
	return out
}

func (o *Owner) RRsets() int {
	types := map[rdata.Type]bool{}
	for _, values := range [...][]OwnerValue{o.Values, o.Cut} {
		for _, v := range values {
			types[v.Type] = true
		}
	}
	return len(types)
}

// Contribution is the data of a Record in a zone.
type Contribution struct {
	Owner  name.Rel
	Type   rdata.Type
	TTL    *uint32
	Values []rdata.Value
}

func (c *Claim) counted(a rules.Admission) *int {
	switch a {
	case rules.AdmittedUnderscore:
		return &c.Underscore
	case rules.AdmittedShared:
		return &c.Shared
	case rules.AdmittedLiteral:
		return &c.Literal
	}
	return &c.Plain
}

// Holds reports whether the claim keeps other tenants from the name. Own underscore records alone do not.
func (c *Claim) Holds() bool { return c.Plain+c.Literal+c.Shared > 0 }

// CountClaim adds delta, 1 or -1, to the records by which a namespace keeps other tenants from o's name. The kind of
// rule that allows the record selects the count. A tenant's underscore rule claims nothing; own is true for the zone's
// own namespace. The result is false if a count becomes negative.
func (o *Owner) CountClaim(namespace string, own bool, admission rules.Admission, delta int) bool {
	if admission == rules.AdmittedUnderscore && !own {
		return true
	}
	i, found := slices.BinarySearchFunc(o.Claims, namespace, func(c Claim, ns string) int { return strings.Compare(c.Namespace, ns) })
	if !found {
		o.Claims = slices.Insert(o.Claims, i, Claim{Namespace: namespace})
	}
	count := o.Claims[i].counted(admission)
	*count += delta
	valid := *count >= 0
	if o.Claims[i] == (Claim{Namespace: namespace}) { // all counts are 0
		o.Claims = slices.Delete(o.Claims, i, i+1)
	}
	return valid
}

func (o *Owner) ClaimOf(namespace string) *Claim {
	if o != nil {
		if i := slices.IndexFunc(o.Claims, func(c Claim) bool { return c.Namespace == namespace }); i >= 0 {
			return &o.Claims[i]
		}
	}
	return nil
}

// HidesPTR reports whether written data at a name, or a child zone, exclude derived PTR there.
func (o *Owner) HidesPTR(owner name.Rel) bool {
	if o == nil {
		return false
	}
	return o.HasType(rdata.PTR) || o.HasType(rdata.CNAME) || o.HasType(rdata.DNAME) ||
		!owner.IsApex() && (o.HasType(rdata.NS) || o.hasCutType(rdata.NS))
}

func (o *Owner) HasPTRCut() bool { return o != nil && o.hasCutType(rdata.PTR) }

func (o *Owner) hasCutType(t rdata.Type) bool {
	return slices.ContainsFunc(o.Cut, func(v OwnerValue) bool { return v.Type == t })
}
