// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// digest is the sum of the hashes of a zone's records, without the SOA and signers' records. Collisions of unkeyed sums
// can be constructed, so each process has a random key, and digests are never stored.
type digest [4]uint64

var digestKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}()

// hashRecord returns the hash of a record; zero for SOA and records of a signer, such as RRSIG, so that these change no
// sum.
func hashRecord(owner string, t rdata.Type, ttl uint32, data string) (d digest) {
	if t == rdata.SOA || t.BySigner() {
		return d
	}
	// No allocation for most records, because a zone is hashed record by record.
	var space [512]byte
	text := append(space[:0], digestKey...)
	text = append(append(text, owner...), 0)
	text = binary.BigEndian.AppendUint16(text, uint16(t))
	text = binary.BigEndian.AppendUint32(text, ttl)
	sum := sha256.Sum256(append(text, data...))
	for i := range d {
		d[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return d
}

func (d *digest) add(other digest) {
	for i := range d {
		d[i] += other[i]
	}
}

func (d *digest) subtract(other digest) {
	for i := range d {
		d[i] -= other[i]
	}
}

func hashSet(set delivery.RRset) (d digest) {
	owner := set.Name.String()
	for _, data := range set.Data {
		d.add(hashRecord(owner, set.Type, set.TTL, data))
	}
	return d
}

func hashZone(plan delivery.Plan) (d digest) {
	for set := range plan.All {
		d.add(hashSet(set))
	}
	return d
}

// hashTransferred returns the hash of a record as the server sent it, in the same form as hashRecord.
func hashTransferred(rr mdns.RR) digest {
	header := rr.Header()
	t := rdata.Type(header.Rrtype)
	if t == rdata.SOA || t.BySigner() {
		return digest{}
	}
	owner, err := name.Parse(header.Name)
	if err == nil {
		var data string
		if data, err = readData(rr); err == nil {
			return hashRecord(owner.String(), t, header.Ttl, data)
		}
	}
	// Unreadable data cannot be of the zone.
	return hashRecord("", t, header.Ttl, rr.String())
}

// readData uses the generic form (RFC 3597), because the library formats some types differently.
func readData(rr mdns.RR) (string, error) {
	var generic mdns.RFC3597
	if err := generic.ToRFC3597(rr); err != nil {
		return "", err
	}
	return rdata.FromRR(rdata.Type(rr.Header().Rrtype), `\# `+strconv.Itoa(len(generic.Rdata)/2)+" "+generic.Rdata, name.Root)
}

func formatSOA(ttl uint32, data string) string {
	fields := strings.Fields(data)
	if len(fields) == 7 {
		fields = slices.Delete(fields, 2, 3)
	}
	return strings.Join(append(fields, strconv.FormatUint(uint64(ttl), 10)), " ")
}
