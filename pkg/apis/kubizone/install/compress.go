// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// compressor compresses Zones and Records to a third, by S2 (an extended Snappy) with a dictionary. They are the
// objects of most writes, for a write of a Record also writes its Zone. Decode reads plain objects, too.
type compressor struct{ runtime.Codec }

// MaxCompressed bounds a compressed object in octets. Larger ones stay plain. Budgets count a compressed object as one
// of this size, so that they also bound memory and CPU of objects made to compress well.
const MaxCompressed = 3 << 9

// compressed begins a compressed object. Protobuf begins with "k8s\x00", JSON with "{".
const compressed = "s2\x01"

var sharedDictionary = s2.MakeDict([]byte(dictionary), nil)

func (c compressor) Identifier() runtime.Identifier { return c.Codec.Identifier() + ",s2" }

// Encode writes plain protobuf for other kinds and large objects.
func (c compressor) Encode(object runtime.Object, w io.Writer) error {
	switch object.(type) {
	case *v1alpha1.Zone, *v1alpha1.Record:
	default:
		return c.Codec.Encode(object, w)
	}
	// Encode into a buffer first, since the size decides about compression.
	var plain bytes.Buffer
	if err := c.Codec.Encode(object, &plain); err != nil {
		return err
	}
	if plain.Len() > MaxCompressed {
		_, err := w.Write(plain.Bytes())
		return err
	}
	// The block follows the beginning, without header or checksum.
	data := make([]byte, len(compressed)+s2.MaxEncodedLen(plain.Len()))
	n := copy(data, compressed)
	_, err := w.Write(data[:n+len(sharedDictionary.Encode(data[n:], plain.Bytes()))])
	return err
}

// Decode bounds the memory for a damaged object before decompression.
func (c compressor) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*schema.GroupVersionKind, error) {
	block, isCompressed := bytes.CutPrefix(data, []byte(compressed))
	if !isCompressed {
		return c.Codec.Decode(data, defaults, into)
	}
	n, err := s2.DecodedLen(block)
	// A damaged length must not allocate gigabytes.
	if err == nil && n > MaxCompressed {
		err = fmt.Errorf("%d octets, more than %d", n, MaxCompressed)
	}
	if err == nil {
		data, err = sharedDictionary.Decode(nil, block)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("an object does not decompress (%w): its value was changed in etcd; restore a backup", err)
	}
	return c.Codec.Decode(data, defaults, into)
}
