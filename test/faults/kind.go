// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faults

import (
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Kinds of transactions, as points name them.
const (
	recordPut    = "record-put"    // a Record comes into a zone or changes in it
	recordDelete = "record-delete" // a Record leaves with its object
	recordPlain  = "record-plain"  // a Record that no zone contains, or its status and metadata
	zonePut      = "zone-put"      // a Zone is made or changed, and nothing follows from it elsewhere
	zoneDelete   = "zone-delete"
	cascadeFirst = "cascade-first" // a write that owes a cascade, and is no removal of a zone
	cascadeStep  = "cascade-step"  // one step of it
	cascadeLast  = "cascade-last"  // what takes it out of the outbox
	cutCounted   = "debt-paid"     // a child's name servers are counted in its parent
	batch        = "batch"         // several Records of one zone
	otherWrite   = "other"         // of any other resource, and the hourly sweep of last serials
)

// kindOf is the kind of a transaction; empty for one that writes nothing.
func kindOf(prefix string, cmps []clientv3.Cmp, then []clientv3.Op) string {
	put, gone, compared := map[string]bool{}, map[string]bool{}, map[string]bool{}
	records := 0
	for _, op := range then {
		of := room(prefix, op.KeyBytes())
		switch {
		case op.IsPut():
			put[of] = true
		case op.IsDelete():
			gone[of] = true
		default:
			continue
		}
		if of == "records" {
			records++
		}
	}
	for i := range cmps {
		compared[room(prefix, cmps[i].KeyBytes())] = true
	}
	switch {
	case len(put)+len(gone) == 0:
		return ""
	case records > 1 && !compared["outbox"]:
		return batch
	case gone["outbox"]:
		return cascadeLast
	case compared["outbox"]:
		return cascadeStep
	case gone["debts"]:
		return cutCounted
	case gone["zones"]:
		return zoneDelete
	case put["outbox"]:
		return cascadeFirst
	case gone["records"]:
		return recordDelete
	case put["records"] && (put["journal"] || put["zones"]):
		return recordPut
	case put["records"]:
		return recordPlain
	case put["zones"]:
		return zonePut
	}
	return otherWrite
}

// room is what stands in etcd beside a key: the resource of an object, or the room of the ledger.
func room(prefix string, key []byte) string {
	rest := strings.TrimPrefix(string(key), prefix+"/")
	for _, under := range []string{"kubi.zone/", "ledger/"} {
		if inner, ok := strings.CutPrefix(rest, under); ok {
			first, _, _ := strings.Cut(inner, "/")
			return first
		}
	}
	return rest
}
