// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faults

import (
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	recordPut    = "record-put" // a Record enters a zone or changes there
	recordDelete = "record-delete"
	recordPlain  = "record-plain" // a Record in no zone, or only status and metadata
	zonePut      = "zone-put"     // without a cascade
	zoneDelete   = "zone-delete"
	cascadeFirst = "cascade-first" // starts a cascade, except the removal of a zone
	cascadeStep  = "cascade-step"
	cascadeLast  = "cascade-last"
	cutCounted   = "debt-paid" // a parent counts a child's name servers
	batch        = "batch"     // of one zone
	otherWrite   = "other"     // any other resource, and the hourly sweep of last serials
)

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
