// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peercert is kubizone peer-certificate: the certificates by which etcd members that run in servers
// authenticate each other, made by the first of them and kept in a Secret.
//
// It promises:
//
//	K1. All members have certificates of one authority, however many start at once.
//	K2. Certificates that exist are kept; a leaf is made anew when two thirds of its life are over or it lacks a
//	    host. An authority is never made anew by itself: running members would not trust it.
//	K3. Files are replaced whole, only their owner can read keys.
//
// It does not know etcd, and is not told when a member is: it runs before the server does, in a container of its own.
//
// Read peercert.go.
package peercert
