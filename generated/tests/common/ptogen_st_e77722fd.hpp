// Part of ptogen 0.1.0; render the suites again to change it.

// The host side of the system tests that ptogen renders: a case's tensors are read from files, put between guards into
// global memory, handed to the kernel, read back and compared with the golden, every byte of them.
//
// A float that the kernel calculated may differ from the golden as far as the ISA's own tests let it (their ResultCmp
// with 0.001). With PTOGEN_EXACT=1 in the environment, as ptogen check sets it, it may not, unless the record of the
// instruction says how far (TensorSpec::Within). Everything else is compared bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#ifdef __CPU_SIM
#include <pto/pto-inst.hpp>
#else
#include "acl/acl.h"
#endif

namespace ptogen {

using Bytes = std::vector<uint8_t>;

// Launches the kernel of a case, by its name, on its tensors in global memory.
using Launcher = void (*)(const std::string& name, void* const* gm, void* stream);

enum class Role { kInput, kOutput, kInOut };

// What is compared and shown as one: an element, or a record of value, zero bytes and uint32 index.
enum class Unit { kElement, kRecord };

enum Type { kFloat32, kFloat16, kBfloat16, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64 };

constexpr size_t kRecordBytes = 8;
constexpr size_t kIndexOffset = 4;
constexpr size_t kShownDifferences = 10;

inline size_t BytesOf(Type type)
{
    switch (type) {
        case kInt8:
        case kUint8:
            return 1;
        case kFloat16:
        case kBfloat16:
        case kInt16:
        case kUint16:
            return 2;
        case kInt64:
        case kUint64:
            return 8;
        default:
            return 4;
    }
}

// A row-major tensor in global memory. Rows and columns count elements; the valid region starts at the origin.
struct TensorSpec {
    const char* name;
    Role role;
    Type type; // of an element, which is half of a record or a quarter
    size_t rows;
    size_t cols;
    size_t validRows;
    size_t validCols;
    Unit unit = Unit::kElement;
    double ulp = 0;          // how many units in the last place a float may be off; 0: bit for bit
    size_t leastDefined = 0; // other than 0 where a file says which bytes of the golden are defined: how many at least
    std::string input = "";  // name of the file of an input
    std::string number = ""; // end of the names of the files of an output

    TensorSpec Records() const
    {
        TensorSpec changed = *this;
        changed.unit = Unit::kRecord;
        return changed;
    }

    TensorSpec Within(double units) const
    {
        TensorSpec changed = *this;
        changed.ulp = units;
        return changed;
    }

    TensorSpec Masked(size_t bytes) const
    {
        TensorSpec changed = *this;
        changed.leastDefined = bytes;
        return changed;
    }

    bool IsFloat() const { return type == kFloat32 || type == kFloat16 || type == kBfloat16; }
    size_t RowBytes() const { return cols * BytesOf(type); }
    size_t TotalBytes() const { return rows * RowBytes(); }
    size_t ValidRowBytes() const { return validCols * BytesOf(type); }
    size_t ValidBytes() const { return validRows * ValidRowBytes(); }
    size_t UnitBytes() const { return unit == Unit::kRecord ? kRecordBytes : BytesOf(type); }

    // Bytes before and after the tensor that nobody may write: more than one row, in whole pages.
    size_t GuardBytes() const
    {
        constexpr size_t page = 4096;
        return (RowBytes() / page + 2) * page;
    }
};

inline TensorSpec Input(const char* name, Type type, size_t rows, size_t cols)
{
    return {name, Role::kInput, type, rows, cols, rows, cols};
}

inline TensorSpec Output(const char* name, Type type, size_t rows, size_t cols, size_t validRows, size_t validCols)
{
    return {name, Role::kOutput, type, rows, cols, validRows, validCols};
}

inline TensorSpec Output(const char* name, Type type, size_t rows, size_t cols)
{
    return Output(name, type, rows, cols, rows, cols);
}

// Read and written: what stands there before comes from a file, too.
inline TensorSpec InOut(const char* name, Type type, size_t rows, size_t cols, size_t validRows, size_t validCols)
{
    return {name, Role::kInOut, type, rows, cols, validRows, validCols};
}

inline TensorSpec InOut(const char* name, Type type, size_t rows, size_t cols)
{
    return InOut(name, type, rows, cols, rows, cols);
}

// A tensor between its guards: what is put into global memory, what must be there after the run, and what is.
struct Image {
    TensorSpec spec;
    Bytes before;
    Bytes expected;
    Bytes actual;
    std::vector<size_t> undefined; // bytes that may be anything after the run
};

inline const testing::TestInfo& RunningTest() { return *testing::UnitTest::GetInstance()->current_test_info(); }

// The data directory of the running test. Tests run in build/bin.
inline std::string DataDir()
{
    return std::string("../") + RunningTest().test_suite_name() + "." + RunningTest().name() + "/";
}

// ---- Files ----

// The bytes of a file of exactly the expected size; otherwise a failure.
inline Bytes ReadFile(const std::string& path, size_t expected)
{
    Bytes bytes(expected);
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        ADD_FAILURE() << path << ": expected " << expected << " bytes, found no file that can be read";
        return bytes;
    }
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(expected));
    std::streamsize found = file.gcount();
    if (file) {
        file.ignore(std::numeric_limits<std::streamsize>::max());
        found += file.gcount();
    }
    if (static_cast<size_t>(found) != expected) {
        ADD_FAILURE() << path << ": expected " << expected << " bytes, found " << found << " bytes";
    }
    return bytes;
}

inline void WriteFile(const std::string& path, const uint8_t* data, size_t size)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    file.close();
    if (!file) {
        ADD_FAILURE() << path << ": cannot be written";
    }
}

// ---- Images ----

// Never 0x00 or 0xff, and different from its neighbours.
inline uint8_t PatternByte(size_t position)
{
    uint32_t hash = static_cast<uint32_t>(position + 1) * 0x9e3779b1u;
    hash = (hash ^ (hash >> 15)) * 0x85ebca77u;
    return static_cast<uint8_t>(0x81 + (hash >> 16) % 0x7e);
}

inline Image MakeImage(const TensorSpec& spec, const std::string& dir)
{
    const size_t guard = spec.GuardBytes();
    Image image{spec, Bytes(guard + spec.TotalBytes() + guard), {}, {}, {}};
    for (size_t i = 0; i < image.before.size(); ++i) {
        image.before[i] = PatternByte(i);
    }
    if (spec.role != Role::kOutput) {
        const Bytes input = ReadFile(dir + spec.input + ".bin", spec.TotalBytes());
        std::copy(input.begin(), input.end(), image.before.begin() + static_cast<std::ptrdiff_t>(guard));
    }
    image.expected = image.before;
    if (spec.role == Role::kInput) {
        return image;
    }
    const Bytes golden = ReadFile(dir + "golden" + spec.number + ".bin", spec.ValidBytes());
    for (size_t row = 0; row < spec.validRows; ++row) {
        std::memcpy(
            &image.expected[guard + row * spec.RowBytes()], golden.data() + row * spec.ValidRowBytes(),
            spec.ValidRowBytes());
    }
    if (spec.leastDefined != 0) {
        // One byte for each of the golden: 1 where it is defined, 0 where it is not.
        const std::string path = dir + "mask" + spec.number + ".bin";
        const Bytes mask = ReadFile(path, spec.ValidBytes());
        for (size_t i = 0; i < mask.size(); ++i) {
            if (mask[i] == 0) {
                image.undefined.push_back(
                    guard + i / spec.ValidRowBytes() * spec.RowBytes() + i % spec.ValidRowBytes());
            }
        }
        const size_t defined = mask.size() - image.undefined.size();
        if (defined < spec.leastDefined) {
            ADD_FAILURE() << path << ": " << defined << " bytes of the golden are defined, expected at least "
                          << spec.leastDefined;
        }
    }
    return image;
}

// ---- Differences ----

inline uint64_t Bits(const uint8_t* bytes, size_t size)
{
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, size);
    return bits;
}

inline std::string Hex(uint64_t bits, size_t size)
{
    char text[32];
    std::snprintf(text, sizeof(text), "0x%0*llx", static_cast<int>(2 * size), static_cast<unsigned long long>(bits));
    return text;
}

inline float FloatFromBits(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

inline float HalfFromBits(uint32_t bits)
{
    const uint32_t exponent = (bits >> 10) & 0x1f;
    const uint32_t fraction = bits & 0x3ff;
    float size = 0;
    if (exponent == 0x1f) {
        size = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
        size = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        size = std::ldexp(static_cast<float>(fraction | 0x400), static_cast<int>(exponent) - 25);
    }
    return (bits & 0x8000) != 0 ? -size : size;
}

inline std::string FloatText(float value)
{
    if (std::isnan(value)) {
        return "NaN";
    }
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
    return text;
}

inline std::string NumberText(Type type, uint64_t bits)
{
    switch (type) {
        case kFloat32:
            return FloatText(FloatFromBits(static_cast<uint32_t>(bits)));
        case kFloat16:
            return FloatText(HalfFromBits(static_cast<uint32_t>(bits)));
        case kBfloat16:
            return FloatText(FloatFromBits(static_cast<uint32_t>(bits) << 16));
        case kInt8:
            return std::to_string(static_cast<int8_t>(bits));
        case kInt16:
            return std::to_string(static_cast<int16_t>(bits));
        case kInt32:
            return std::to_string(static_cast<int32_t>(bits));
        case kInt64:
            return std::to_string(static_cast<int64_t>(bits));
        default:
            return std::to_string(bits);
    }
}

// An element or a record in words, with its bits.
inline std::string UnitText(const TensorSpec& spec, const uint8_t* bytes)
{
    const uint64_t value = Bits(bytes, BytesOf(spec.type));
    std::string text = NumberText(spec.type, value) + " (" + Hex(value, BytesOf(spec.type)) + ")";
    if (spec.unit == Unit::kElement) {
        return text;
    }
    if (BytesOf(spec.type) < kIndexOffset) {
        const size_t paddingBytes = kIndexOffset - BytesOf(spec.type);
        text += " padding " + Hex(Bits(bytes + BytesOf(spec.type), paddingBytes), paddingBytes);
    }
    const uint64_t index = Bits(bytes + kIndexOffset, kRecordBytes - kIndexOffset);
    return "{" + text + " index " + std::to_string(index) + " (" + Hex(index, kRecordBytes - kIndexOffset) + ")}";
}

// ---- Floats ----

// Beyond this, absolutely and relatively, the ISA's tests call a float wrong.
constexpr double kDeviceBound = 0.001;
constexpr double kDeviceBoundBfloat16 = 0.01; // whose steps are up to 0.008 of the value

inline bool IsExact()
{
    const char* exact = std::getenv("PTOGEN_EXACT");
    return exact != nullptr && std::strcmp(exact, "1") == 0;
}

inline double FloatValue(Type type, uint64_t bits)
{
    const uint32_t word = static_cast<uint32_t>(bits);
    return type == kFloat16 ? HalfFromBits(word) : FloatFromBits(type == kBfloat16 ? word << 16 : word);
}

// Numbers of the floats of a type in their order, so that neighbours differ by 1; both zeros are 0.
inline int64_t PlaceOf(Type type, uint64_t bits)
{
    const uint64_t sign = uint64_t{1} << (8 * BytesOf(type) - 1);
    const int64_t size = static_cast<int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -size : size;
}

// Whether a float whose bits are not the golden's may stand for it. Where that is NaN, any NaN may, unless the floats
// are compared bit for bit; nothing may stand for an infinity.
inline bool IsClose(const TensorSpec& spec, uint64_t golden, uint64_t actual)
{
    const double wanted = FloatValue(spec.type, golden);
    const double found = FloatValue(spec.type, actual);
    if (std::isnan(wanted) || std::isnan(found)) {
        return std::isnan(wanted) && std::isnan(found) && (spec.ulp > 0 || !IsExact());
    }
    if (std::isinf(wanted) || std::isinf(found)) {
        return false;
    }
    const int64_t units = std::abs(PlaceOf(spec.type, golden) - PlaceOf(spec.type, actual));
    if (spec.ulp > 0 && static_cast<double>(units) <= spec.ulp) {
        return true;
    }
    const double bound = spec.type == kBfloat16 ? kDeviceBoundBfloat16 : kDeviceBound;
    const double difference = std::abs(wanted - found);
    return !IsExact() && (difference <= bound || difference <= bound * std::abs(wanted));
}

// Whether the unit at a byte of an image is as it should be.
inline bool IsRight(const Image& image, size_t position, size_t size)
{
    const TensorSpec& spec = image.spec;
    const uint8_t* expected = &image.expected[position];
    const uint8_t* actual = &image.actual[position];
    if (std::memcmp(expected, actual, size) == 0) {
        return true;
    }
    const size_t begin = spec.GuardBytes();
    const bool isInside = position >= begin && position < begin + spec.TotalBytes();
    if (!isInside || spec.role == Role::kInput || spec.unit == Unit::kRecord || !spec.IsFloat()) {
        return false;
    }
    const size_t row = (position - begin) / spec.RowBytes();
    const size_t rowByte = (position - begin) % spec.RowBytes();
    const bool isValid = row < spec.validRows && rowByte < spec.ValidRowBytes();
    return isValid && IsClose(spec, Bits(expected, size), Bits(actual, size));
}

// The difference at a byte of an image.
inline std::string DifferenceText(const Image& image, size_t position)
{
    const TensorSpec& spec = image.spec;
    const size_t begin = spec.GuardBytes();
    const size_t end = begin + spec.TotalBytes();
    const uint8_t* before = &image.before[position];
    const uint8_t* expected = &image.expected[position];
    const uint8_t* actual = &image.actual[position];
    std::ostringstream text;
    text << spec.name;
    if (position < begin || position >= end) {
        const size_t distance = position < begin ? begin - position : position - end + 1;
        text << ", byte " << distance << (position < begin ? " before" : " after") << " the tensor: was written: fill "
             << Hex(*expected, 1) << ", actual " << Hex(*actual, 1);
        return text.str();
    }
    const size_t row = (position - begin) / spec.RowBytes();
    const size_t rowByte = (position - begin) % spec.RowBytes();
    text << "[row " << row << (spec.unit == Unit::kRecord ? ", record " : ", column ") << rowByte / spec.UnitBytes()
         << "]";
    if (spec.role == Role::kInput) {
        text << ": the input was written: ";
    } else if (row >= spec.validRows || rowByte >= spec.ValidRowBytes()) {
        text << " outside the valid region: was written: fill ";
    } else {
        text << ": golden ";
    }
    text << UnitText(spec, expected) << ", actual " << UnitText(spec, actual);
    if (std::memcmp(before, actual, spec.UnitBytes()) == 0) {
        text << " is the fill: was not written";
    }
    return text.str();
}

// Compares every byte: records and elements of the tensor, single bytes of the guards.
inline void Compare(const Image& image)
{
    const size_t begin = image.spec.GuardBytes();
    const size_t end = begin + image.spec.TotalBytes();
    size_t count = 0;
    std::ostringstream shown;
    for (size_t position = 0, size = 1; position < image.expected.size(); position += size) {
        size = position >= begin && position < end ? image.spec.UnitBytes() : 1;
        if (IsRight(image, position, size)) {
            continue;
        }
        if (count < kShownDifferences) {
            shown << "\n  " << DifferenceText(image, position);
        }
        ++count;
    }
    if (count != 0) {
        ADD_FAILURE() << image.spec.name << ": " << count << (count == 1 ? " difference" : " differences")
                      << (count > kShownDifferences ? ", the first:" : ":") << shown.str();
    }
}

// ---- Device ----

// PTOGEN_CHECKED throws where a call of the runtime fails, PTOGEN_CLEANUP notes it.
#ifdef __CPU_SIM
// pto-isa's stand-ins cannot fail, and some are macros that expand to nothing or to a block.
#define PTOGEN_CHECKED(call) \
    do {                     \
        call;                \
    } while (false)
#define PTOGEN_CLEANUP(call) PTOGEN_CHECKED(call)
#else
#define PTOGEN_CHECKED(call)                                  \
    do {                                                      \
        const int code = static_cast<int>(call);              \
        if (code != 0) {                                      \
            throw std::runtime_error(ErrorText(#call, code)); \
        }                                                     \
    } while (false)
#define PTOGEN_CLEANUP(call)                         \
    do {                                             \
        const int code = static_cast<int>(call);     \
        if (code != 0) {                             \
            ADD_FAILURE() << ErrorText(#call, code); \
        }                                            \
    } while (false)

inline std::string ErrorText(const char* call, int code)
{
    const char* reason = aclGetRecentErrMsg();
    return std::string(call) + " returned " + std::to_string(code) + (reason ? std::string(": ") + reason : "");
}
#endif

// Releases what was acquired, whatever happens in between.
struct Defer {
    std::function<void()> action;
    ~Defer() { action(); }
};

// Global memory that holds an image.
class GmBuffer {
public:
    explicit GmBuffer(size_t size) : size_(size)
    {
        PTOGEN_CHECKED(aclrtMalloc(&memory_, size_, ACL_MEM_MALLOC_HUGE_FIRST));
        if (memory_ == nullptr) {
            throw std::runtime_error("no global memory of " + std::to_string(size) + " bytes");
        }
    }
    ~GmBuffer() { PTOGEN_CLEANUP(aclrtFree(memory_)); }
    GmBuffer(const GmBuffer&) = delete;
    GmBuffer& operator=(const GmBuffer&) = delete;

    void Write(Bytes& image)
    {
        uint8_t* host = image.data();
        PTOGEN_CHECKED(aclrtMemcpy(memory_, size_, host, size_, ACL_MEMCPY_HOST_TO_DEVICE));
    }

    void Read(Bytes& image)
    {
        image.resize(size_);
        uint8_t* host = image.data();
        PTOGEN_CHECKED(aclrtMemcpy(host, size_, memory_, size_, ACL_MEMCPY_DEVICE_TO_HOST));
    }

    void* At(size_t offset) { return static_cast<uint8_t*>(memory_) + offset; }

private:
    size_t size_;
    void* memory_ = nullptr;
};

// Puts the images into global memory, runs the kernel and reads the images back.
inline void Run(std::vector<Image>& images, Launcher launch)
{
    PTOGEN_CHECKED(aclInit(nullptr));
    const Defer finalize{[] { PTOGEN_CLEANUP(aclFinalize()); }};
    PTOGEN_CHECKED(aclrtSetDevice(0));
    const Defer reset{[] { PTOGEN_CLEANUP(aclrtResetDevice(0)); }};
    aclrtStream stream = nullptr;
    PTOGEN_CHECKED(aclrtCreateStream(&stream));
    const Defer destroy{[&] { PTOGEN_CLEANUP(aclrtDestroyStream(stream)); }};

    std::list<GmBuffer> buffers;
    std::vector<void*> tensors;
    for (Image& image : images) {
        buffers.emplace_back(image.before.size());
        buffers.back().Write(image.before);
        tensors.push_back(buffers.back().At(image.spec.GuardBytes()));
    }
    launch(RunningTest().name(), tensors.data(), stream);
#ifndef __CPU_SIM // there the launch returns when the kernel has ended
    PTOGEN_CHECKED(aclrtSynchronizeStream(stream));
#endif
    auto buffer = buffers.begin();
    for (Image& image : images) {
        (buffer++)->Read(image.actual);
    }
}

// ---- A case ----

// The tensors are in the order of the kernel's parameters. Their files are input1.bin, input2.bin and so on, golden.bin
// of the first output, golden2.bin of the next; mask.bin and output.bin are called as the golden is.
inline void RunCase(Launcher launch, const std::vector<TensorSpec>& tensors)
{
    const std::string dir = DataDir();
    std::vector<Image> images;
    size_t inputs = 0;
    size_t outputs = 0;
    for (TensorSpec spec : tensors) {
        if (spec.role != Role::kOutput) {
            spec.input = "input" + std::to_string(++inputs);
        }
        if (spec.role != Role::kInput && ++outputs > 1) {
            spec.number = std::to_string(outputs);
        }
        images.push_back(MakeImage(spec, dir));
        if (spec.role != Role::kInput) {
            std::remove((dir + "output" + spec.number + ".bin").c_str());
        }
    }
    if (testing::Test::HasFailure()) {
        return;
    }
    try {
        Run(images, launch);
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        return;
    }
    for (Image& image : images) {
        const TensorSpec& spec = image.spec;
        if (spec.role != Role::kInput) {
            WriteFile(dir + "output" + spec.number + ".bin", &image.actual[spec.GuardBytes()], spec.TotalBytes());
        }
        for (size_t position : image.undefined) {
            image.expected[position] = image.actual[position];
        }
        Compare(image);
    }
}

} // namespace ptogen
