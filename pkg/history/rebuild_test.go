// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/test/must"
)

// A step that gives an RRset other values does not mention the TTL, since that did not change. Undoing such a step
// keeps the TTL. Undoing the step that created the RRset removes it.
func TestUndo_keepsTheTTLOfAnRRset(t *testing.T) {
	k := rrset{must.Get(name.ParseRel("www"))(t), rdata.A}
	ttl := must.Get(content.ParseTTL("62"))(t)
	c := &Content{generation: 5, sets: map[rrset]*content.RRset{k: {Owner: k.owner, Type: k.t, TTL: ttl, Data: []string{"192.0.2.2"}}}}
	must.Succeed(t, c.Undo(&v1alpha1.HistoryStep{ContentGeneration: 5, From: 4, Removed: []v1alpha1.Row{{Owner: "www", Type: "A",
		Data: "192.0.2.1"}}, Added: []v1alpha1.Row{{Owner: "www", Type: "A", Data: "192.0.2.2"}}}))
	if set := c.sets[k]; set == nil || set.TTL != ttl || len(set.Data) != 1 || set.Data[0] != "192.0.2.1" {
		t.Errorf("%+v", set)
	}
	must.Succeed(t, c.Undo(&v1alpha1.HistoryStep{ContentGeneration: 4, From: 3, Added: []v1alpha1.Row{{Owner: "www", Type: "A",
		Data: "192.0.2.1"}}, TTLs: []v1alpha1.TTLChange{{Owner: "www", Type: "A", After: "62"}}}))
	if len(c.sets) != 0 {
		t.Errorf("%+v before the RRset was made", c.sets[k])
	}
}
