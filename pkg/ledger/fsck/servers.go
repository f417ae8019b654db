// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/pkg/ledger/layout"
)

// readServers reads the objects of BIND 9 servers. Nothing follows from them, so all that can be wrong is that one
// does not decode, or stands under the key of another.
func (c *check) readServers() error {
	if c.config.Further == nil {
		return nil
	}
	for _, resource := range layout.FleetResources {
		codec, prefix := c.config.Further(resource), c.layout.Objects(resource)
		err := c.eachKey(prefix, func(key string, kv *mvccpb.KeyValue) error {
			object, err := codec.DecodeNew(c.ctx, key, kv.Value)
			if err != nil {
				c.reportDamage(key, "S11.1", err.Error(), "an object of %s", resource)
				return nil
			}
			have, err := meta.Accessor(object)
			if err != nil {
				c.reportDamage(key, "S11.1", err.Error(), "an object of %s", resource)
				return nil
			}
			if name := strings.TrimPrefix(have.GetNamespace()+"/"+have.GetName(), "/"); key != prefix+name {
				c.reportDamage(key, "S11.1", name, "the object that the key names")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
