// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// Objects bounds the objects of a resource in a transaction.
	Objects = 128
	// Last is the sub-revision of a resource's last object in a revision.
	Last = Objects - 1

	octet = 0x80 // no encoding of Kubernetes begins with this bit, except CBOR
)

// Version returns the version of a sub-revision, 0 for revision 0.
func Version(revision, sub int64) int64 {
	if revision == 0 {
		return 0
	}
	return revision*Objects + sub
}

func Split(version int64) (revision, sub int64) { return version / Objects, version % Objects }

func wholeRevision(version int64) int64 { return (version+1)/Objects - 1 }

func isInside(version int64) bool { return version > 0 && version%Objects != Last }

// encodeValue puts the octet of a sub-revision before a value. The last sub-revision gets none, unless the value's
// first octet looks like a sub-revision.
func encodeValue(value []byte, sub int64) []byte {
	if sub == Last && value[0] < octet {
		return value
	}
	return append([]byte{octet | byte(sub)}, value...)
}

func decodeValue(value []byte) (rest []byte, sub int64) {
	if len(value) == 0 || value[0] < octet {
		return value, Last
	}
	return value[1:], int64(value[0] &^ octet)
}

// Mapping converts between versions and etcd's revisions.
type Mapping struct {
	resources  []string // prefixes; none contains another
	allIndexes []int
}

// New returns a Mapping between etcd's revisions and the versions of Kubernetes objects. The resources are key
// prefixes. Each ends in "/", and none is a prefix of another.
func New(resources ...string) (*Mapping, error) {
	for i, r := range resources {
		if !strings.HasSuffix(r, "/") {
			return nil, fmt.Errorf("the resource %q does not end in /, as a prefix does", r)
		}
		for j, other := range resources {
			if i != j && strings.HasPrefix(r, other) {
				return nil, fmt.Errorf("resource %q lies in %q: an object belongs to one resource", r, other)
			}
		}
	}
	m := &Mapping{resources: resources}
	for i := range resources {
		m.allIndexes = append(m.allIndexes, i)
	}
	return m, nil
}

// resourceIndex returns the index of the resource to which an object's key belongs, or -1. It allocates nothing.
func resourceIndex[T string | []byte](resources []string, key T) int {
	return slices.IndexFunc(resources, func(r string) bool { return len(key) > len(r) && string(key[:len(r)]) == r })
}

// span is a range as in etcd, where end "" means a single key.
type span struct{ key, end string }

// noEnd is behind each key: no key of Kubernetes begins with this octet.
const noEnd = "\xff"

// makeSpan returns the range of a request to etcd, where the end "\x00" means no end.
func makeSpan(key, end string) span {
	if end == "\x00" {
		end = noEnd
	}
	return span{key, end}
}

func spanOf(op clientv3.Op) span { return makeSpan(string(op.KeyBytes()), string(op.RangeBytes())) }

func (s span) contains(key string) bool {
	if s.end == "" {
		return key == s.key
	}
	return key >= s.key && key < s.end
}

func (s span) covers(resource string) bool {
	return s.key <= resource && s.end >= clientv3.GetPrefixRangeEnd(resource)
}

// resourcesIn returns the indexes of the resources that a range touches. The result in is true if the range is inside a
// single resource, and so has objects only.
func (m *Mapping) resourcesIn(s span) (touched []int, in bool) {
	if s.end == "" {
		// A single key, the usual case, without an allocation.
		i := resourceIndex(m.resources, s.key)
		if i < 0 {
			return nil, false
		}
		return m.allIndexes[i : i+1 : i+1], true
	}
	for i, r := range m.resources {
		end := clientv3.GetPrefixRangeEnd(r)
		if s.key < end && s.end > r {
			touched = append(touched, i)
			in = s.key >= r && s.end <= end // and so touches no other
		}
	}
	return touched, in
}

// mapKV replaces the revisions of a key by versions, and removes the octet of an object's value. If sub is negative,
// the sub-revision is the stored one.
func (m *Mapping) mapKV(kv *mvccpb.KeyValue, sub int64) {
	if kv == nil {
		return
	}
	own := int64(Last)
	if resourceIndex(m.resources, kv.Key) >= 0 {
		kv.Value, own = decodeValue(kv.Value)
	}
	if sub < 0 {
		sub = own
	}
	// The creation's own sub-revision is not stored with later values, so CreateRevision gets the last.
	created := kv.CreateRevision == kv.ModRevision
	kv.ModRevision = Version(kv.ModRevision, sub)
	kv.CreateRevision = Version(kv.CreateRevision, Last)
	if created { // etcd3 and clientv3 recognize a creation by this equality
		kv.CreateRevision = kv.ModRevision
	}
}

func (m *Mapping) mapKVs(kvs []*mvccpb.KeyValue) {
	for _, kv := range kvs {
		m.mapKV(kv, -1)
	}
}

func mapHeader(h *etcdserverpb.ResponseHeader) {
	if h != nil {
		h.Revision = Version(h.Revision, Last)
	}
}

var errFilter = errors.New("objects, and streams, are not read by modification or creation revision; " +
	"read the range and compare the versions")
