// Kernels in plain C++ for the host program's tests: TSORT32 as the ISA words it, and copies. HOST_FAULT spoils what they do; each fault
// is one byte or one record, the least that a host program has to notice.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace {

bool Fault(const char* name)
{
    const char* fault = std::getenv("HOST_FAULT");
    return fault != nullptr && std::string(fault) == name;
}

struct Shape {
    size_t rows, cols, validRows, validCols;
};

float Value(const uint8_t* bytes, size_t width)
{
    if (width == 4) {
        float value;
        std::memcpy(&value, bytes, 4);
        return value;
    }
    const int bits = bytes[0] + 256 * bytes[1];
    const int exponent = bits / 1024 % 32;
    float value = std::ldexp(static_cast<float>(bits % 1024) / 1024 + (exponent != 0 ? 1 : 0), (exponent != 0 ? exponent : 1) - 15);
    if (exponent == 31) {
        value = std::numeric_limits<float>::infinity();
    }
    return bits >= 32768 ? -value : value;
}

uint32_t Index(const uint8_t* bytes)
{
    uint32_t index;
    std::memcpy(&index, bytes, 4);
    return index;
}

// Faults of any kernel; `total` bytes at dst, rows of `pitch` bytes of which `valid` count.
void Spoil(uint8_t* dst, size_t total, size_t pitch, size_t valid, uint8_t* src, size_t srcBytes)
{
    if (Fault("outside_columns")) dst[valid] ^= 1;
    if (Fault("outside_rows")) dst[total - 1] ^= 1;
    if (Fault("byte_before")) dst[-1] ^= 1;
    if (Fault("byte_after")) dst[total] ^= 1;
    if (Fault("row_before")) dst[-static_cast<std::ptrdiff_t>(pitch)] ^= 1;
    if (Fault("row_after")) dst[total + pitch - 1] ^= 1;
    if (Fault("input_first")) src[0] ^= 1;
    if (Fault("input_last")) src[srcBytes - 1] ^= 1;
    if (Fault("input_before")) src[-1] ^= 1;
    if (Fault("input_after")) src[srcBytes] ^= 1;
    if (Fault("every_byte")) std::memset(dst, 0, total);
    if (Fault("throws")) throw std::runtime_error("the kernel gave up");
}

void Sort(size_t width, Shape shape, size_t idxRows, void* dstMemory, void* srcMemory, void* idxMemory)
{
    if (Fault("unwritten")) return;
    uint8_t* dst = static_cast<uint8_t*>(dstMemory);
    uint8_t* src = static_cast<uint8_t*>(srcMemory);
    uint8_t* idx = static_cast<uint8_t*>(idxMemory);
    for (size_t row = 0; row < shape.validRows; ++row) {
        const uint8_t* values = src + row * shape.cols * width;
        const uint8_t* indices = idx + (idxRows == 1 ? 0 : row) * shape.cols * 4;
        uint8_t* records = dst + row * shape.cols * 8;
        for (size_t k = 0; k < shape.validCols; ++k) {
            const size_t first = k / 32 * 32;
            const size_t last = first + 32 < shape.validCols ? first + 32 : shape.validCols;
            size_t place = first;
            for (size_t j = first; j < last; ++j) {
                const float left = Value(values + j * width, width), right = Value(values + k * width, width);
                place += left > right || (left == right && Index(indices + j * 4) < Index(indices + k * 4));
            }
            uint8_t* record = records + place * 8;
            std::memset(record, 0, 8);
            std::memcpy(record, values + k * width, width);
            std::memcpy(record + 4, indices + k * 4, 4);
        }
    }
    uint8_t* last = dst + (shape.validRows - 1) * shape.cols * 8 + (shape.validCols - 1) * 8;
    if (Fault("wrong_index")) last[4] ^= 1;
    if (Fault("index_high_bit")) last[7] ^= 0x80;
    if (Fault("swapped_records")) {
        uint8_t record[8];
        std::memcpy(record, dst, 8);
        std::memcpy(dst, dst + 8, 8);
        std::memcpy(dst + 8, record, 8);
    }
    if (Fault("nan")) std::memset(dst + 3 * 8, 0x7f, width);
    if (Fault("one_ulp")) dst[2 * 8] ^= 1;
    if (Fault("zero_sign")) {
        for (size_t record = 0; record < shape.validCols; ++record) {
            if (Value(dst + record * 8, width) == 0) dst[record * 8 + width - 1] ^= 0x80;
        }
    }
    if (Fault("padding")) dst[1 * 8 + 3] = 1;
    if (Fault("last_record_unwritten")) std::memset(last, 0x99, 8);
    Spoil(dst, shape.rows * shape.cols * 8, shape.cols * 8, shape.validCols * 8, src, shape.rows * shape.cols * width);
}

void Copy(size_t width, Shape shape, void* dstMemory, void* srcMemory)
{
    if (Fault("unwritten")) return;
    uint8_t* dst = static_cast<uint8_t*>(dstMemory);
    uint8_t* src = static_cast<uint8_t*>(srcMemory);
    const size_t pitch = shape.cols * width;
    for (size_t row = 0; row < shape.validRows; ++row) {
        std::memcpy(dst + row * pitch, src + row * pitch, shape.validCols * width);
    }
    if (Fault("one_ulp")) dst[0] ^= 1;
    // Of the masked copy row 0 is defined, and of row 1 three elements and a byte.
    if (Fault("last_defined")) dst[pitch + 3 * width] ^= 1;
    if (Fault("first_undefined")) dst[pitch + 3 * width + 1] ^= 1;
    if (Fault("every_undefined")) std::memset(dst + pitch + 3 * width + 1, 0, 4 * width - 1);
    Spoil(dst, shape.rows * pitch, pitch, shape.validCols * width, src, shape.rows * pitch);
}

}  // namespace

void LaunchCase(const std::string& name, void* const* gm, void*)
{
    if (name == "f32_part") Sort(4, {3, 50, 2, 45}, 3, gm[0], gm[1], gm[2]);
    if (name == "f32_all") Sort(4, {2, 64, 2, 64}, 2, gm[0], gm[1], gm[2]);
    if (name == "f16_part") Sort(2, {4, 70, 3, 33}, 4, gm[0], gm[1], gm[2]);
    if (name == "f16_all") Sort(2, {2, 32, 2, 32}, 1, gm[0], gm[1], gm[2]);
    if (name == "f32_wide") Sort(4, {2, 2000, 1, 1999}, 1, gm[0], gm[1], gm[2]);
    if (name == "copy_float32") Copy(4, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_float16") Copy(2, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_bfloat16") Copy(2, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_int8") Copy(1, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_int16") Copy(2, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_int32") Copy(4, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_int64") Copy(8, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "loose_float32") Copy(4, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "loose_float16" || name == "loose_bfloat16") Copy(2, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_masked") Copy(4, {3, 9, 2, 7}, gm[0], gm[1]);
    if (name == "copy_uint64") Copy(8, {3, 9, 2, 7}, gm[0], gm[1]);
}
