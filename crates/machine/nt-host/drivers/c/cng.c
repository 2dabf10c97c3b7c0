/* Computes known answers with CNG and prints them. BUG is a mistake with a provider, a hash or a key. */
#include "plain.h"
#include <bcrypt.h>

#define LEAKED_PROVIDER 1
#define LEAKED_HASH 2
#define LEAKED_KEY 3
#define RAISED_IRQL 4
#define RAISED_RANDOM 5
#define FREED_OBJECT 6
#define OVERWRITTEN_OBJECT 7
#define FINISHED_HASH 8
#define DESTROYED_TWICE 9
#define CLOSED_TOO_EARLY 10
#define OTHER_ALGORITHM 11
#define OTHER_MODE 12

#define BYTES(text) ((PUCHAR)(text)), (ULONG)(sizeof(text) - 1)

static void Show(const char *What, NTSTATUS Status, const UCHAR *Data, ULONG Length)
{
    char text[161];
    ULONG i;

    for (i = 0; i < Length && i < 80; i++) {
        text[2 * i] = "0123456789abcdef"[Data[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[Data[i] & 15];
    }
    text[2 * i] = 0;
    LOG("%s: %08x %s\n", What, Status, text);
}

static BCRYPT_ALG_HANDLE Open(PCWSTR Name, ULONG Flags)
{
    BCRYPT_ALG_HANDLE algorithm = NULL;
    NTSTATUS status = BCryptOpenAlgorithmProvider(&algorithm, Name, NULL, Flags);

    if (status != 0)
        LOG("open: %08x\n", status);
    return algorithm;
}

static ULONG Number(BCRYPT_HANDLE Object, PCWSTR Name)
{
    ULONG value = 0, size = 0;

    BCryptGetProperty(Object, Name, (PUCHAR)&value, sizeof(value), &size, 0);
    return value;
}

/* A hash in memory of the driver, in two parts, and a copy of it before the second part. */
static void Hash(const char *What, PCWSTR Name, ULONG Flags, PUCHAR Key, ULONG KeyLength, PUCHAR Data, ULONG Length)
{
    BCRYPT_ALG_HANDLE algorithm = Open(Name, Flags);
    BCRYPT_HASH_HANDLE hash = NULL, copy = NULL;
    ULONG size = Number(algorithm, BCRYPT_OBJECT_LENGTH), length = Number(algorithm, BCRYPT_HASH_LENGTH);
    PUCHAR object = size == 0 ? NULL : ExAllocatePool2(POOL_FLAG_NON_PAGED, size, TAG);
    UCHAR value[64] = {0}, again[64] = {0};
    NTSTATUS status = BCryptCreateHash(algorithm, &hash, object, size, Key, KeyLength, 0);

    if (status == 0) {
        BCryptHashData(hash, Data, 2, 0);
        BCryptDuplicateHash(hash, &copy, NULL, 0, 0);
        BCryptHashData(copy, Data + 2, Length - 2, 0);
        BCryptFinishHash(copy, again, length, 0);
        BCryptDestroyHash(copy);
        BCryptHashData(hash, Data + 2, Length - 2, 0);
        status = BCryptFinishHash(hash, value, length, 0);
        if (RtlCompareMemory(value, again, length) != length)
            LOG("the copy differs\n");
        BCryptDestroyHash(hash);
    }
    Show(What, status, value, length);
    if (object != NULL)
        ExFreePoolWithTag(object, TAG);
    BCryptCloseAlgorithmProvider(algorithm, 0);
}

static void Hashes(void)
{
    UCHAR value[32] = {0};
    BCRYPT_ALG_HANDLE algorithm;

    Hash("MD5", BCRYPT_MD5_ALGORITHM, 0, NULL, 0, BYTES("abc"));
    Hash("SHA1", BCRYPT_SHA1_ALGORITHM, 0, NULL, 0, BYTES("abc"));
    Hash("SHA256", BCRYPT_SHA256_ALGORITHM, BCRYPT_PROV_DISPATCH, NULL, 0, BYTES("abc"));
    Hash("SHA384", BCRYPT_SHA384_ALGORITHM, 0, NULL, 0, BYTES("abc"));
    Hash("SHA512", BCRYPT_SHA512_ALGORITHM, 0, NULL, 0, BYTES("abc"));
    Hash("HMAC", BCRYPT_SHA256_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG, BYTES("Jefe"), BYTES("what do ya want for nothing?"));
    Show("BCryptHash", BCryptHash(BCRYPT_SHA256_ALG_HANDLE, NULL, 0, BYTES("abc"), value, 32), value, 32);
    Show("short", BCryptHash(BCRYPT_SHA256_ALG_HANDLE, NULL, 0, BYTES("abc"), value, 31), value, 0);
    Show("secret", BCryptHash(BCRYPT_SHA256_ALG_HANDLE, BYTES("no key"), BYTES("abc"), value, 32), value, 0);
    algorithm = Open(BCRYPT_SHA1_ALGORITHM, BCRYPT_ALG_HANDLE_HMAC_FLAG);
    Show("PBKDF2", BCryptDeriveKeyPBKDF2(algorithm, BYTES("password"), BYTES("salt"), 2, value, 20, 0), value, 20);
    BCryptCloseAlgorithmProvider(algorithm, 0);
    Show("unknown", BCryptOpenAlgorithmProvider(&algorithm, L"ROT13", NULL, 0), value, 0);
}

/* Keys and data of NIST SP 800-38A, F.2.1. */
static UCHAR SecretBytes[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static UCHAR PlainBytes[32] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
                               0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};

static void Vector(PUCHAR To)
{
    UCHAR i;

    for (i = 0; i < 16; i++)
        To[i] = i;
}

static void Chained(BCRYPT_ALG_HANDLE Aes)
{
    BCRYPT_KEY_HANDLE key = NULL, imported = NULL, copy = NULL;
    UCHAR vector[16], data[64] = {0}, blob[12 + 16] = {0};
    ULONG size = 0, written = 0;
    NTSTATUS status = BCryptGenerateSymmetricKey(Aes, &key, NULL, 0, SecretBytes, sizeof(SecretBytes), 0);

    Show("key", status, NULL, 0);
    if (status != 0)
        return;
    Vector(vector);
    status = BCryptEncrypt(key, PlainBytes, 32, NULL, vector, 16, data, 64, &written, 0);
    Show("CBC", status, data, written);
    Show("vector", 0, vector, 16);
    Show("uneven", BCryptEncrypt(key, PlainBytes, 20, NULL, vector, 16, data, 64, &written, 0), NULL, 0);
    status = BCryptEncrypt(key, PlainBytes, 20, NULL, NULL, 0, NULL, 0, &size, BCRYPT_BLOCK_PADDING);
    LOG("padded: %08x %u\n", status, size);
    status = BCryptEncrypt(key, PlainBytes, 20, NULL, vector, 16, data, 16, &size, BCRYPT_BLOCK_PADDING);
    LOG("too small: %08x %u\n", status, size);
    BCryptExportKey(key, NULL, BCRYPT_KEY_DATA_BLOB, blob, sizeof(blob), &size, 0);
    status = BCryptImportKey(Aes, NULL, BCRYPT_KEY_DATA_BLOB, &imported, NULL, 0, blob, size, 0);
    Show("import", status, blob, size);
    BCryptDuplicateKey(imported, &copy, NULL, 0, 0);
    Vector(vector);
    BCryptEncrypt(key, PlainBytes, 20, NULL, vector, 16, data, 64, &written, BCRYPT_BLOCK_PADDING);
    Vector(vector);
    status = BCryptDecrypt(copy, data, written, NULL, vector, 16, data, 64, &written, BCRYPT_BLOCK_PADDING);
    Show("decrypted", status, data, written);
    Vector(vector);
    status = BCryptDecrypt(copy, PlainBytes, 32, NULL, vector, 16, data, 64, &written, BCRYPT_BLOCK_PADDING);
    Show("no padding", status, NULL, 0);
    BCryptSetProperty(copy, BCRYPT_CHAINING_MODE, (PUCHAR)BCRYPT_CHAIN_MODE_ECB, sizeof(BCRYPT_CHAIN_MODE_ECB), 0);
    status = BCryptEncrypt(copy, PlainBytes, 32, NULL, NULL, 0, data, 64, &written, 0);
    Show("ECB", status, data, written);
    BCryptDestroyKey(copy);
    BCryptDestroyKey(imported);
    BCryptDestroyKey(key);
}

static void Authenticated(BCRYPT_ALG_HANDLE Aes)
{
    BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO info;
    BCRYPT_KEY_HANDLE key;
    UCHAR nonce[12] = {0}, secret[16] = {0}, data[16] = {0}, tag[16] = {0};
    ULONG written = 0;
    NTSTATUS status;

    BCryptSetProperty(Aes, BCRYPT_CHAINING_MODE, (PUCHAR)BCRYPT_CHAIN_MODE_GCM, sizeof(BCRYPT_CHAIN_MODE_GCM), 0);
    if (BCryptGenerateSymmetricKey(Aes, &key, NULL, 0, secret, 16, 0) != 0)
        return;
    BCRYPT_INIT_AUTH_MODE_INFO(info);
    info.pbNonce = nonce;
    info.cbNonce = sizeof(nonce);
    info.pbTag = tag;
    info.cbTag = sizeof(tag);
    status = BCryptEncrypt(key, data, 16, &info, NULL, 0, data, 16, &written, 0);
    Show("GCM", status, data, 16);
    Show("tag", status, tag, 16);
    status = BCryptDecrypt(key, data, 16, &info, NULL, 0, data, 16, &written, 0);
    Show("opened", status, data, 16);
    tag[15] ^= 1;
    Show("forged", BCryptDecrypt(key, data, 16, &info, NULL, 0, data, 16, &written, 0), NULL, 0);
    Show("nothing", BCryptEncrypt(key, NULL, 0, &info, NULL, 0, NULL, 0, &written, 0), tag, 16);
    BCryptDestroyKey(key);
}

static void Random(void)
{
    BCRYPT_ALG_HANDLE random = Open(BCRYPT_RNG_ALGORITHM, BCRYPT_PROV_DISPATCH);
    UCHAR first[16] = {0}, second[16] = {0};
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    BCryptGenRandom(random, first, 16, 0);
    KeLowerIrql(irql);
    BCryptGenRandom(NULL, second, 16, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
    LOG("random: %s\n", RtlCompareMemory(first, second, 16) == 16 ? "the same" : "different");
    Show("no handle", BCryptGenRandom(NULL, second, 16, 0), NULL, 0);
    BCryptCloseAlgorithmProvider(random, 0);
}

/* A hash at DISPATCH_LEVEL, which a provider must be opened for, and the mistakes. */
static void Mistakes(void)
{
    BCRYPT_ALG_HANDLE algorithm = Open(BCRYPT_SHA256_ALGORITHM, BUG == RAISED_IRQL ? 0 : BCRYPT_PROV_DISPATCH), other;
    BCRYPT_HASH_HANDLE hash = NULL;
    BCRYPT_KEY_HANDLE key = NULL;
    ULONG size = Number(algorithm, BCRYPT_OBJECT_LENGTH);
    PUCHAR object = size == 0 ? NULL : ExAllocatePool2(POOL_FLAG_NON_PAGED, size, TAG);
    UCHAR value[32];
    KIRQL irql;

    if (algorithm == NULL || object == NULL || BCryptCreateHash(algorithm, &hash, object, size, NULL, 0, 0) != 0)
        goto Done;
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    BCryptHashData(hash, BYTES("abc"), 0);
    if (BUG == RAISED_RANDOM)
        BCryptGenRandom(NULL, value, sizeof(value), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
    KeLowerIrql(irql);
    BCryptFinishHash(hash, value, sizeof(value), 0);
    if (BUG == FINISHED_HASH)
        BCryptHashData(hash, BYTES("abc"), 0);
    if (BUG == OVERWRITTEN_OBJECT)
        object[size - 1] = 0;
    if (BUG == FREED_OBJECT) {
        ExFreePoolWithTag(object, TAG);
        object = NULL;
    }
    if (BUG == CLOSED_TOO_EARLY) {
        BCryptCloseAlgorithmProvider(algorithm, 0);
        algorithm = NULL;
    }
    if (BUG != LEAKED_HASH)
        BCryptDestroyHash(hash);
    if (BUG == DESTROYED_TWICE)
        BCryptDestroyHash(hash);
    if (BUG == OTHER_ALGORITHM)
        Open(BCRYPT_RSA_ALGORITHM, 0);
    other = Open(BCRYPT_AES_ALGORITHM, 0);
    if (BUG == OTHER_MODE)
        BCryptSetProperty(other, BCRYPT_CHAINING_MODE, (PUCHAR)BCRYPT_CHAIN_MODE_CFB, sizeof(BCRYPT_CHAIN_MODE_CFB), 0);
    if (BCryptGenerateSymmetricKey(other, &key, NULL, 0, SecretBytes, 16, 0) == 0 && BUG != LEAKED_KEY)
        BCryptDestroyKey(key);
    BCryptCloseAlgorithmProvider(other, 0);
Done:
    if (object != NULL)
        ExFreePoolWithTag(object, TAG);
    if (algorithm != NULL && BUG != LEAKED_PROVIDER)
        BCryptCloseAlgorithmProvider(algorithm, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    BCRYPT_ALG_HANDLE aes;

    Driver->DriverUnload = Unload;
    if (BUG != 0) {
        Mistakes();
        return 0;
    }
    Hashes();
    Random();
    aes = Open(BCRYPT_AES_ALGORITHM, 0);
    if (aes != NULL) {
        LOG("block of %u bytes\n", Number(aes, BCRYPT_BLOCK_LENGTH));
        Chained(aes);
        Authenticated(aes);
        BCryptCloseAlgorithmProvider(aes, 0);
    }
    Mistakes();
    return 0;
}
