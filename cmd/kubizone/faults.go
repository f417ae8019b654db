// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package main

import _ "kubi.zone/kubizone/test/faults" // arms the fault points of crash tests
