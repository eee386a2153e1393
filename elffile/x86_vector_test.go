package elffile

import (
	"encoding/hex"
	"testing"
)

// Every instruction is followed by `call` and its displacement, which are no part of it.
func TestVectorLength(t *testing.T) {
	const call = "e811223344"
	for name, code := range map[string]string{
		"vzeroupper":                            "c5f877",
		"vzeroall":                              "c5fc77",
		"vzeroupper with three bytes of prefix": "c4e17877",
		"vmovups (%rdi),%ymm0":                  "c5fc1007",
		"vmovups 0x10(%rsp),%xmm0":              "c5f810442410",
		"vmovups 0x12345678(%rip),%ymm1":        "c5fc100d78563412",
		"vmovaps (,%rax,4),%xmm0":               "c5f828048500000000",
		"vmovups %fs:(%rax),%xmm0":              "64c5f81000",
		"vpshufd $1,%xmm0,%xmm0":                "c5f970c001",
		"vbroadcastss (%rdi),%ymm0":             "c4e27d1807",
		"vinsertf128 $1,%xmm0,%ymm0,%ymm0":      "c4e37d18c001",
		"andn %rdx,%rsi,%rax":                   "c4e2c8f2c2",
		"rorx $5,%rdi,%rax":                     "c4e3fbf0c705",
		"vmovups (%rdi),%zmm0":                  "62f17c481007",
		"vmovups 0x40(%rdi),%zmm0":              "62f17c48104701",
		"vpternlogd $0xff,%zmm0,%zmm0,%zmm0":    "62f37d4825c0ff",
		"vpcmpd $1,(%rsp),%zmm0,%k1":            "62f37d481f0c2401",
	} {
		t.Run(name, func(t *testing.T) {
			bytes, err := hex.DecodeString(code + call)
			if err != nil {
				t.Fatal(err)
			}
			if length, isVector := vectorLength(bytes); !isVector || length != len(code)/2 {
				t.Errorf("length %d, vector %v, %d expected", length, isVector, len(code)/2)
			}
			for cut := range len(code) / 2 {
				if length, isVector := vectorLength(bytes[:cut]); isVector && length > cut+4 {
					t.Errorf("%d bytes of code: length %d", cut, length)
				}
			}
		})
	}
}

func TestVectorLengthOfOthers(t *testing.T) {
	for name, code := range map[string]struct {
		bytes    []byte
		isVector bool
	}{
		"nothing":              {bytes: nil},
		"push":                 {bytes: []byte{0x55}},
		"only a prefix":        {bytes: []byte{0x64}},
		"cut after the prefix": {bytes: []byte{0xc5, 0xf8}, isVector: true},
		"unknown map":          {bytes: []byte{0xc4, 0xff, 0x78, 0x10, 0x07}, isVector: true},
		"map of APX":           {bytes: []byte{0x62, 0xf4, 0x7c, 0x48, 0x01, 0xc0}, isVector: true},
	} {
		t.Run(name, func(t *testing.T) {
			if length, isVector := vectorLength(code.bytes); length != 0 || isVector != code.isVector {
				t.Errorf("length %d, vector %v", length, isVector)
			}
		})
	}
}
