// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Author is the user behind a step (a change of a zone). The zero value means a change before the history begins.
type Author struct {
	Serial int64  `json:"serial,omitempty"` // after the step
	Time   string `json:"time,omitempty"`   // RFC 3339
	// Way is how the change was made: by a request, an UpdateKey, an ACME challenge, external-dns or a cascade (later
	// writes by the server, after a zone or rule changed).
	Way v1alpha1.Way `json:"way,omitempty"`
	// By is the user. If By and Cause are "", the user is of another namespace and hidden.
	By           string `json:"by,omitempty"`
	FieldManager string `json:"fieldManager,omitempty"`
	AuditID      string `json:"auditID,omitempty"`
	// Cause is the reason of a cascade: the zone or rule that changed.
	Cause string `json:"cause,omitempty"`
	// Records are the changed Records, as "NAMESPACE/NAME". OtherRecords counts those left out, of other names.
	Records      []string `json:"records,omitempty"`
	OtherRecords int64    `json:"otherRecords,omitempty"`
}

func AuthorOf(x *v1alpha1.HistoryStep) Author {
	a := Author{Serial: x.Serial, Way: x.Way, By: x.By, FieldManager: x.FieldManager, AuditID: x.AuditID, Cause: x.Cause,
		OtherRecords: x.OtherRecords}
	if x.Time != nil {
		a.Time = x.Time.UTC().Format(time.RFC3339)
	}
	for i := range x.Records {
		a.Records = append(a.Records, x.Records[i].Namespace+"/"+x.Records[i].Name)
	}
	return a
}

// User returns the user with the field manager, or the cause.
func (a *Author) User() string {
	if a.Serial == 0 {
		return "before the history"
	}
	step := v1alpha1.HistoryStep{Way: a.Way, By: a.By, FieldManager: a.FieldManager, Cause: a.Cause}
	return step.Author()
}

// DescribeRecords returns the Records as text, or "": the first most of them, and how many others there are.
func (a *Author) DescribeRecords(most int) string {
	shown := a.Records[:min(len(a.Records), most)]
	text := strings.Join(shown, ", ")
	switch others := len(a.Records) - len(shown) + int(a.OtherRecords); {
	case text == "" || others == 0:
		return text
	case others == 1:
		return text + " and 1 other Record"
	default:
		return fmt.Sprintf("%s and %d other Records", text, others)
	}
}

func (a *Author) String() string {
	if a.Serial == 0 {
		return a.User()
	}
	return fmt.Sprintf("%s at %s, serial %d", a.User(), a.Time, a.Serial)
}

type Value struct {
	// Op is "+" if added, "-" if removed, and "" if present.
	Op     string `json:"op,omitempty"`
	FQDN   string `json:"fqdn"`
	TTL    uint32 `json:"ttl"`
	Type   string `json:"type"`
	Data   string `json:"data"`
	Author Author `json:"author"`
}

func (v *Value) Line() string { return fmt.Sprintf("%s %d %s %s", v.FQDN, v.TTL, v.Type, v.Data) }

type valueKey struct {
	owner name.Name
	t     rdata.Type
	data  string
}

func (p *Past) findAuthors(removed bool) func(dns.Entry) Author {
	newest := map[valueKey]*v1alpha1.HistoryStep{}
	var header *v1alpha1.HistoryStep // the newest step that changed the spec
	for i := range p.Steps {
		x := &p.Steps[i]
		apex, err := name.Parse(x.FQDN)
		if err != nil {
			continue
		}
		gone, made := withServers(x)
		rows := made
		if removed {
			rows = gone
		}
		if x.HeaderAfter != nil && header == nil {
			header = x
		}
		for _, row := range rows {
			if k, ok := keyOf(row, apex); ok && newest[k] == nil {
				newest[k] = x
			}
		}
	}

	return func(e dns.Entry) Author {
		x := newest[valueKey{e.Name, e.Type, e.Data}]
		if e.Type == rdata.SOA {
			x = header
		}
		if x == nil {
			return Author{}
		}
		one := AtName(x, e.Name)
		return AuthorOf(&one)
	}
}

// withServers returns the rows that a step removed and added, with those of spec.nameServers: a change of the addresses
// of ns1 removes and adds rows of ns1.
func withServers(x *v1alpha1.HistoryStep) (removed, added []v1alpha1.Row) {
	before, after := serverRows(x.HeaderBefore), serverRows(x.HeaderAfter)
	without := func(rows, others []v1alpha1.Row) []v1alpha1.Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r v1alpha1.Row) bool { return slices.Contains(others, r) })
	}
	return slices.Concat(x.Removed, without(before, after)), slices.Concat(x.Added, without(after, before))
}

func serverRows(h *v1alpha1.ZoneHeader) (rows []v1alpha1.Row) {
	if h == nil {
		return nil
	}
	header, err := headerOf(h)
	if err != nil {
		return nil
	}
	for _, set := range header.NameServerRRsets() {
		for _, data := range set.Data {
			rows = append(rows, v1alpha1.Row{Owner: set.Owner.String(), Type: set.Type.String(), Data: data})
		}
	}
	return rows
}

func headerOf(h *v1alpha1.ZoneHeader) (out content.Header, err error) {
	text, err := json.Marshal(h)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

func keyOf(row v1alpha1.Row, apex name.Name) (k valueKey, ok bool) {
	rel, err := name.ParseRel(row.Owner)
	if err != nil {
		return k, false
	}
	t, err := rdata.ParseType(row.Type)
	if err != nil {
		return k, false
	}
	owner, err := rel.In(apex)
	if err != nil {
		return k, false
	}
	data, err := rdata.Value{Type: t, Text: row.Data}.Resolve(apex)
	return valueKey{owner, t, data}, err == nil
}

// RowLine returns a row as OWNER TYPE DATA, with absolute names if valid.
func RowLine(row v1alpha1.Row, fqdn string) string {
	if apex, err := name.Parse(fqdn); err == nil {
		if k, ok := keyOf(row, apex); ok {
			return fmt.Sprintf("%s %s %s", k.owner, row.Type, k.data)
		}
	}
	return fmt.Sprintf("%s %s %s", row.Owner, row.Type, row.Data)
}

func ownerOf(owner, fqdn string) string {
	if apex, err := name.Parse(fqdn); err == nil {
		if rel, err := name.ParseRel(owner); err == nil {
			if n, err := rel.In(apex); err == nil {
				return n.String()
			}
		}
	}
	return owner
}

// Touches reports whether a step changed values or TTLs at a name, or is a change of the whole zone with this name. The
// zero name means any.
func Touches(step *v1alpha1.HistoryStep, owner name.Name) bool {
	if owner.IsZero() || step.FQDN == owner.String() && len(step.Removed)+len(step.Added)+len(step.TTLs) == 0 {
		return true
	}
	isOwner := func(changed string) bool { return ownerOf(changed, step.FQDN) == owner.String() }
	row := func(r v1alpha1.Row) bool { return isOwner(r.Owner) }
	removed, added := withServers(step)
	return slices.ContainsFunc(removed, row) || slices.ContainsFunc(added, row) ||
		slices.ContainsFunc(step.TTLs, func(c v1alpha1.TTLChange) bool { return isOwner(c.Owner) })
}

// AtName returns a step with the values, TTLs and Records of a name alone, zero for all. OtherRecords counts the
// Records left out. Below the apex, addresses of spec.nameServers are values of their host, in place of the headers.
func AtName(step *v1alpha1.HistoryStep, owner name.Name) v1alpha1.HistoryStep {
	out := *step
	if owner.IsZero() {
		return out
	}
	isOther := func(changed string) bool { return ownerOf(changed, step.FQDN) != owner.String() }
	removed, added := slices.Clone(step.Removed), slices.Clone(step.Added)
	if step.FQDN != owner.String() {
		removed, added = withServers(step)
		out.HeaderBefore, out.HeaderAfter = nil, nil
	}
	out.Removed = slices.DeleteFunc(removed, func(r v1alpha1.Row) bool { return isOther(r.Owner) })
	out.Added = slices.DeleteFunc(added, func(r v1alpha1.Row) bool { return isOther(r.Owner) })
	out.TTLs = slices.DeleteFunc(slices.Clone(step.TTLs), func(c v1alpha1.TTLChange) bool { return isOther(c.Owner) })
	out.Records = slices.DeleteFunc(slices.Clone(step.Records), func(r v1alpha1.HistoryRecord) bool {
		return isOther(r.Owner) && ownerBefore(&r, step.FQDN) != owner.String()
	})
	out.OtherRecords += int64(len(step.Records) - len(out.Records))
	return out
}

// ownerBefore returns the DNS name of a Record before a step, or "" if there was none or it is not kept.
func ownerBefore(r *v1alpha1.HistoryRecord, fqdn string) string {
	var spec v1alpha1.RecordSpec
	if r.Before == nil || r.Before.Spec == nil || json.Unmarshal(r.Before.Spec.Raw, &spec) != nil {
		return ""
	}
	apex, err := name.Parse(fqdn)
	if err != nil {
		return ""
	}
	owner, err := name.ParseIn(spec.DomainName, apex)
	if err != nil {
		return ""
	}
	return owner.String()
}

func IsBy(x *v1alpha1.HistoryStep, text string) bool {
	return strings.Contains(x.By, text) || strings.Contains(x.FieldManager, text)
}

// TTLLine returns the change of a kept RRset's TTL, or "".
func TTLLine(c v1alpha1.TTLChange, fqdn string) string {
	if c.Before == "" || c.After == "" {
		return ""
	}
	return fmt.Sprintf("%s %s: ttl %s instead of %s", ownerOf(c.Owner, fqdn), c.Type, c.After, c.Before)
}

func compareValues(x, y Value) int {
	return cmp.Or(strings.Compare(x.FQDN, y.FQDN), strings.Compare(x.Type, y.Type), strings.Compare(x.Data, y.Data),
		strings.Compare(y.Op, x.Op))
}
